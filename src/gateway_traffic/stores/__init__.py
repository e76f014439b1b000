"""Where the jobs put their results, and where pages and reports read them."""
