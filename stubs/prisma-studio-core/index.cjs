// Prisma's command line loads this package when it starts, and uses it only in commands that Bursar does not need.
