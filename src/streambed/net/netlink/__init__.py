"""Netlink: the messages, and the families that shape routes and filter packets."""
