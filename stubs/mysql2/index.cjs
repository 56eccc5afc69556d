// Prisma's command line names this package when it starts, and uses it in commands that Bursar does not need.
