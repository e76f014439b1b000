"""What several tests share: fakes, small histories, servers, and when to measure again."""
