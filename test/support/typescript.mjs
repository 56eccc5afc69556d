// Lets every thread load TypeScript: `node --import ./test/support/typescript.mjs`. `--import=tsx` does this for the
// main thread only.
import './memory-files.mjs'
import { register } from 'tsx/esm/api'

register()
