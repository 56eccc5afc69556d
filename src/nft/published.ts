/** Collections, mints and transfers of tokens as public events. */
import { publishedCollections } from './collections/published.ts'
import { publishedMints } from './tokens/published.ts'
import { publishedNftTransfers } from './transfers/published.ts'

export const publishedNfts = [...publishedCollections, ...publishedMints, ...publishedNftTransfers]
