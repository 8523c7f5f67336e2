"""What each route does: one module per layer, one coroutine per route."""
