/** Metadata of NFTs: the route that serves it, its URI, and its pins on IPFS, for the API. */
import type { Routes } from '../http/request.ts'
import { createMetadataUri, type MetadataUri } from '../nft/metadata/metadata-uri.ts'
import { createPinMetadata, type PinMetadata } from '../nft/metadata/pin-metadata.ts'
import { createReadContent } from '../nft/metadata/read-content.ts'
import { pinOf } from '../nft/metadata/repin-task.ts'
import { metadataRoutes } from '../nft/metadata/routes.ts'
import type { Kernel } from './kernel.ts'

export type MetadataParts = {
  readonly routes: Routes
  readonly pinMetadata: PinMetadata
  readonly metadataUri: MetadataUri
}

export function composeMetadata(kernel: Kernel): MetadataParts {
  const { pool, clock, config } = kernel
  return {
    routes: metadataRoutes({ readContent: createReadContent(pool) }),
    pinMetadata: createPinMetadata({ pool, clock, pin: pinOf(kernel) }),
    metadataUri: createMetadataUri(config.metadataBaseUrl),
  }
}
