"""`memstrata setup`: what a coding agent's own configuration must say, shown as a diff, written, and taken back.

A client is one module of `clients`: a table of changes by kind. A change is a pair of pure functions over a file's text,
one that puts our part in and one that takes it out, both leaving every other byte as it is. Reading, showing, writing and
undoing know nothing of clients or formats, so another kind of change is one more entry in a client's table.
"""
