/** The settings of NFTs: where metadata is published, and the node that pins it. */
import { declareSettings } from '../config/declare-settings.ts'
import { ruleOf } from '../config/read-setting.ts'
import { text } from '../config/schema-kinds.ts'

const IPFS_SETTINGS = {
  IPFS_API_URL: text(
    '^https?://[^\\s/?#@"]+(/[^\\s?#@"]*)?$',
    'must be an http:// or https:// URL without user name and password, such as http://127.0.0.1:5001',
    {
      description: 'URL of the RPC API of a Kubo node. NFT metadata is pinned there before the mint.',
      'x-secret': true,
    },
  ),
  IPFS_API_AUTHORIZATION: text('^[!-~]+ [!-~]+$', 'must be the value of an Authorization header, such as Bearer abc', {
    description: '`Authorization` header for `IPFS_API_URL`, for a node behind a proxy that requires it.',
    'x-secret': true,
  }),
}

const METADATA_SETTINGS = {
  METADATA_BASE_URL: text(
    '^(https://[^\\s/?#@"]+|http://(localhost|127\\.0\\.0\\.1)(:[0-9]+)?)/([^\\s?#@"]*/)?$',
    'must be an https:// URL that ends with / and has at most 200 characters; http:// is allowed for localhost only',
    {
      description:
        'The part of a `metadata_uri` before the CID, such as `https://wallets.example/v1/nft/metadata/`. The default is `ipfs://`.',
      maxLength: 200,
    },
  ),
}

export const nftSettings = {
  ipfs: declareSettings({
    group: 'last',
    settings: IPFS_SETTINGS,
    read: ({ IPFS_API_URL: url, IPFS_API_AUTHORIZATION: authorization }) =>
      url === undefined ? null : { url, authorization: authorization ?? null },
    problems({ IPFS_API_URL: url, IPFS_API_AUTHORIZATION: authorization }) {
      if (url === undefined && authorization !== undefined)
        return ['IPFS_API_URL must be set if IPFS_API_AUTHORIZATION is set']
      return url === undefined || URL.canParse(url) ? [] : [`IPFS_API_URL ${ruleOf(IPFS_SETTINGS.IPFS_API_URL)}`]
    },
  }),
  metadataBaseUrl: declareSettings({
    group: 'last',
    settings: METADATA_SETTINGS,
    read: ({ METADATA_BASE_URL }) => METADATA_BASE_URL ?? null,
    problems: ({ METADATA_BASE_URL: url }) =>
      url === undefined || URL.canParse(url)
        ? []
        : [`METADATA_BASE_URL ${ruleOf(METADATA_SETTINGS.METADATA_BASE_URL)}`],
  }),
}

declare module '../config.ts' {
  interface CapabilityConfig {
    /** Null when only Bursar serves metadata. `authorization` is the value of the header. */
    readonly ipfs: { readonly url: string; readonly authorization: string | null } | null
    /** Ends with `/`. Null for `ipfs://`. */
    readonly metadataBaseUrl: string | null
  }
}
