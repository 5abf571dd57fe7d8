"""What tests of others run against memkit's own classes."""
