"""Evolution at the command line: tasks on disk, programs judged in the sandbox, runs that survive a kill."""
