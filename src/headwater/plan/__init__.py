"""From checked rules to steps over the kernel: join orders, and running them."""
