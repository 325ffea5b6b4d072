"""What happens to base relations before views follow: keys, lifetimes, sizes."""
