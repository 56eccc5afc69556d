// Lets every thread load TypeScript: `node --import ./test/support/typescript.mjs`. What `--import=tsx` does for the main
// thread alone.
import { register } from 'tsx/esm/api'

register()
