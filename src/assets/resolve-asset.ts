/** Resolves a caller's name of an asset: a symbol, a contract address, or a CAIP-19 id. Never guesses. */
import { parseAddress } from '../chain/address.ts'
import { closest } from '../core/closest.ts'
import { Conflict, ValidationFailed } from '../core/errors.ts'
import type { AssetBooks } from './asset-books.ts'
import type { AssetChain, AssetIndex, KnownAsset } from './asset-index.ts'

/** Maximum number of valid assets listed in an error. */
const MAX_NAMED = 50

const CONTRACT = /^0x/i
const CAIP_19 = /^eip155:/

/**
 * @param name a symbol in any case, a contract address, or an asset id
 * @param field the request field that an error names
 * @throws ValidationFailed `unknown_asset` naming the known ones, or what is wrong with the address;
 *   Conflict `ambiguous_asset` listing the candidates
 */
export async function resolveAsset(
  { books }: { readonly books: AssetBooks },
  tenantId: string,
  chain: AssetChain,
  name: string,
  field = 'asset',
): Promise<KnownAsset> {
  const remembered = await books.open(tenantId, chain)
  const found = find(remembered, name, field)
  if (found !== undefined) return found
  // It may just have been registered through another process.
  const index = await books.open(tenantId, chain, { fresh: true })
  const foundNow = find(index, name, field)
  if (foundNow === undefined) throw unknownAsset(index, chain, name, field)
  return foundNow
}

function find(index: AssetIndex, name: string, field: string): KnownAsset | undefined {
  if (CONTRACT.test(name)) return index.byContract(parseAddress(name, field))
  if (CAIP_19.test(name)) return index.byId(name)
  const candidates = index.bySymbol(name)
  if (candidates.length > 1) throw ambiguousAsset(candidates, name)
  return candidates[0]
}

function unknownAsset(index: AssetIndex, { network }: AssetChain, name: string, field: string): ValidationFailed {
  const symbols = [...new Set(index.all.map(({ symbol }) => symbol))].slice(0, MAX_NAMED)
  const meant = closest(name, symbols)
  const message =
    `${field} is not a known asset on ${network}${meant === undefined ? '' : ` (did you mean ${meant}?)`}. ` +
    `Known assets: ${symbols.join(', ')}. To use another token, register it with POST /v1/assets.`
  return ValidationFailed.field(field, 'unknown_asset', message, { assets: symbols })
}

function ambiguousAsset(candidates: readonly KnownAsset[], name: string): Conflict {
  return new Conflict(
    'ambiguous_asset',
    `${name} is the symbol of several assets: send the contract address instead.`,
    {
      candidates: candidates.map(({ assetId, symbol, contract }) => ({
        asset_id: assetId,
        symbol,
        contract_address: contract,
      })),
    },
  )
}
