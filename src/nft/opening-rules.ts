/** What the transactions of NFTs may be: calls of the functions that this service makes, without an amount. Pure. */

import { DEPLOYMENT_PROXY } from '../chain/deployment-proxy.ts'
import { addressWord } from '../chain/hex.ts'
import type { SubjectType } from '../core/registry.ts'
import { sameHex } from '../keys/coverage.ts'
import type { Intent } from '../transactions/intent.ts'
import type { KindsOf } from '../transactions/kind-rules.ts'
import { callWithoutValue } from '../transactions/opening-rules.ts'
import { createImplementation, FACTORY_ADDRESS, isDeployment, STEP_FACTORY_ADDRESS } from './contracts/collection.ts'
import { EARLIER_FACTORIES, isEarlierCreation } from './contracts/earlier-factories.ts'
import { callsFunction } from './contracts/encode-calls.ts'
import { deploysFactory } from './contracts/ensure-factory.ts'
import type { nft } from './declaration.ts'
import { nftEffects } from './effects.ts'

const BOTH = ['ERC721', 'ERC1155'] as const
const FACTORIES = [FACTORY_ADDRESS, STEP_FACTORY_ADDRESS, ...EARLIER_FACTORIES]

export const nftKinds: KindsOf<typeof nft> = {
  CollectionDeployRequested: {
    rule(intent) {
      const bare = callWithoutValue(intent, 'collection')
      if (bare !== null) return bare
      const { to, data } = intent
      if (sameHex(to, STEP_FACTORY_ADDRESS) && BOTH.some((one) => sameHex(data, createImplementation(one).data)))
        return null
      if (isEarlierCreation(to, data ?? '')) return null
      if (FACTORIES.some((one) => sameHex(to, one)))
        return isDeployment(data ?? '') ? null : 'it must call deploy of the factory'
      if (!sameHex(to, DEPLOYMENT_PROXY)) return 'a deployment must call the factory, or deploy it'
      return deploysFactory(data ?? '') ? null : 'the deployment proxy must deploy the factory, and nothing else'
    },
    effect: nftEffects.CollectionDeployRequested,
  },
  MintRequested: {
    rule: (intent) => callOf(intent, 'mint', ['mint', 'mintBatch', 'redeem']),
    effect: nftEffects.MintRequested,
  },
  NftTransferRequested: {
    rule(intent) {
      const wrong = callOf(intent, 'nft_transfer', ['transferFrom', 'safeTransferFrom', 'safeBatchTransferFrom'])
      if (wrong !== null) return wrong
      const holder = (intent.data ?? '').slice(10, 74)
      return sameHex(holder, addressWord(intent.from)) ? null : 'an NFT transfer must move tokens of the wallet itself'
    },
    effect: nftEffects.NftTransferRequested,
  },
  TokenUpdateRequested: {
    rule: (intent) => callOf(intent, 'token', ['setTokenDigest', 'freeze']),
    effect: nftEffects.TokenUpdateRequested,
  },
  VoucherRevocationRequested: {
    rule: (intent) => callOf(intent, 'mint', ['revoke']),
    effect: nftEffects.VoucherRevocationRequested,
  },
}

function callOf(intent: Intent, subject: SubjectType, functions: readonly string[]): string | null {
  const bare = callWithoutValue(intent, subject)
  if (bare !== null) return bare
  return callsFunction(intent.data ?? '', functions) ? null : `it must call ${functions.join(' or ')} of a collection`
}
