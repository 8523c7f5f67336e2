"""The directory in SQLite, one repository per noun. See `store.directory`."""
