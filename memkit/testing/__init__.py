"""What others' test suites run against memkit's own classes."""
