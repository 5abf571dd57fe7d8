"""One adapter per system, each in a file that its authors can check in a minute."""
