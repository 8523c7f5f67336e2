"""What holds whatever the order of calls: nothing crosses from one scope to another, and everything is stored once."""
