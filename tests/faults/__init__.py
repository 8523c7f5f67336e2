"""What happens when a process is killed, a disk fills up or a file is damaged: real processes, real files."""
