/** Metadata of NFTs: the route that serves it, its URI, and its pins on IPFS. */
import type { Routes } from '../http/request.ts'
import { createKuboNode } from '../nft/metadata/kubo.ts'
import { createMetadataUri, type MetadataUri } from '../nft/metadata/metadata-uri.ts'
import { createPin } from '../nft/metadata/pin.ts'
import { createPinMetadata, type PinMetadata } from '../nft/metadata/pin-metadata.ts'
import { countPendingPins } from '../nft/metadata/pin-rows.ts'
import { createReadContent } from '../nft/metadata/read-content.ts'
import { createRepin, type Repin } from '../nft/metadata/repin.ts'
import { metadataRoutes } from '../nft/metadata/routes.ts'
import type { Kernel } from './kernel.ts'

export type MetadataParts = {
  readonly routes: Routes
  readonly pinMetadata: PinMetadata
  readonly metadataUri: MetadataUri
}

/** For the API. */
export function composeMetadata(kernel: Kernel): MetadataParts {
  const { pool, clock, config } = kernel
  return {
    routes: metadataRoutes({ readContent: createReadContent(pool) }),
    pinMetadata: createPinMetadata({ pool, clock, pin: composePin(kernel) }),
    metadataUri: createMetadataUri(config.metadataBaseUrl),
  }
}

/** For the process that maintains pins; null without an IPFS node. */
export function composeRepin(kernel: Kernel): Repin | null {
  const pin = composePin(kernel)
  if (pin === null) return null
  const { pool, clock, metrics } = kernel
  metrics.addGauge('bursar_ipfs_pins_pending', 'Metadata files that the IPFS node has not confirmed.', [], async () => [
    { labels: {}, value: await countPendingPins(pool) },
  ])
  return createRepin({ pool, clock, pin })
}

function composePin({ config, metrics }: Kernel) {
  return config.ipfs === null ? null : createPin(createKuboNode(config.ipfs), metrics.observePin)
}
