"""An adapter a system, each in a file that its authors can check in a minute."""
