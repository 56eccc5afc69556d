/**
 * What a request without a transaction can do. Typed data: permits of EIP-2612, DAI and Permit2, and transfers of ERC-3009, are what
 * they let others move, and what else looks as if it let others spend can move anything. The export of a key can, too. Pure.
 */
import { mostOf } from '../chain/spends.ts'
import { apiKeyOf } from '../core/messages.ts'
import type { Environment, Network } from '../core/networks.ts'
import type { Action } from '../core/policy.ts'
import { spendingTypeIn } from '../core/spending-types.ts'
import { UNLIMITED } from '../core/spends.ts'
import { type Facts, tokenMoved } from './facts.ts'
import { ANY, ANYTHING, type Intent, intentOf, type Judged, unclear } from './intent.ts'

/** Typed data as signature requests record it. */
export type JudgedTypedData = {
  readonly domain: { readonly chainId?: number; readonly verifyingContract?: string }
  /** Without that of the domain. */
  readonly types: Readonly<Record<string, readonly { readonly name: string; readonly type: string }[]>>
  readonly message: Readonly<Record<string, unknown>>
}

/** Who requests what, and when. */
export type RequestFacts = {
  readonly tenantId: string
  readonly environment: Environment
  readonly requestedAt: string
}
export type WalletFacts = RequestFacts & {
  readonly walletId: string
  readonly network: Network
  readonly chainId: number
}

/** What is signed, as the opening event of a signature has it. `message` (EIP-191): its bytes in hex. */
export type SignedFacts = { readonly message: string } | { readonly typedData: JudgedTypedData }

/** `0x` and 32 bytes. */
const HASH_DIGITS = 66

/**
 * A message is text to every contract, but one of 32 bytes can be a hash: accounts (Safe, ERC-4337) and exchanges take a signed message
 * with the hash of a transaction, an operation or an order as the consent to it.
 */
export function judgedSignature(requested: WalletFacts & SignedFacts, facts: Facts): Judged {
  if ('typedData' in requested)
    return judged(requested, facts, typedDataIntents(requested.typedData, requested.chainId, facts))
  const isHash = requested.message.length === HASH_DIGITS
  return judged(requested, facts, [isHash ? unclear(['sign_message']) : intentOf({ actions: ['sign_message'] })])
}

/** Whoever has the key of a wallet can move all that it holds. */
export function judgedExport(requested: WalletFacts, facts: Facts): Judged {
  const parts = { recipient: ANY, spender: ANY, moves: ANYTHING }
  return judged(requested, facts, [intentOf({ actions: ['export'], ...parts })])
}

/** A voucher lets whoever has it mint. */
export type VoucherFacts = WalletFacts & {
  readonly contract: string
  /** `null` for anybody. */
  readonly recipient: string | null
}

export function judgedVoucher({ contract: of, recipient: to, ...requested }: VoucherFacts, facts: Facts): Judged {
  const [contract, recipient] = [of.toLowerCase(), to?.toLowerCase() ?? ANY]
  const isToOwnWallet = recipient !== ANY && facts.isOwn(recipient)
  return judged(requested, facts, [intentOf({ actions: ['nft_mint'], contract, recipient, isToOwnWallet })])
}

/** An API key is created or changed. */
export function judgedKeyChange(requested: RequestFacts, facts: Pick<Facts, 'actor'>): Judged {
  const nowhere = { walletId: null, network: null, chainId: null }
  return judged({ ...requested, ...nowhere }, { ...facts, tags: [] }, [intentOf({ actions: ['api_key_change'] })])
}

function judged(
  { requestedAt: at, ...place }: RequestFacts & Pick<Judged, 'walletId' | 'network' | 'chainId'>,
  { actor, tags }: Pick<Facts, 'actor' | 'tags'>,
  intents: readonly Intent[],
): Judged {
  const { tenantId, environment, walletId, network, chainId } = place
  return { tenantId, environment, at, apiKey: apiKeyOf(actor), walletId, tags, network, chainId, intents, fee: null }
}

/** More items of one permit are judged as one that cannot be understood. */
const MAX_ITEMS = 64

/** What one item of a signature lets somebody move, or moves to a recipient. */
type Grant = { readonly token: unknown; readonly amount: unknown } & (
  | { readonly spender: unknown }
  | { readonly recipient: unknown }
)
type Reader = (message: Readonly<Record<string, unknown>>, verifyingContract: unknown) => readonly Grant[]

const DETAILS = 'PermitDetails(address token,uint160 amount,uint48 expiration,uint48 nonce)'
const PERMISSIONS = 'TokenPermissions(address token,uint256 amount)'
const AUTHORIZED = 'address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce'

/** By the primary type with the types that it refers to (EIP-712, encodeType), up to the witness of Permit2. */
const READERS: readonly (readonly [start: string, end: string, Reader])[] = [
  ['Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)', '', readPermit],
  ['Permit(address holder,address spender,uint256 nonce,uint256 expiry,bool allowed)', '', readDai],
  ['PermitSingle(PermitDetails details,address spender,uint256 sigDeadline)', DETAILS, readPermit2('details')],
  ['PermitBatch(PermitDetails[] details,address spender,uint256 sigDeadline)', DETAILS, readPermit2('details')],
  ...['Permit', 'PermitBatch'].flatMap((name) => {
    const permitted = name === 'Permit' ? 'TokenPermissions permitted' : 'TokenPermissions[] permitted'
    const fields = `${permitted},address spender,uint256 nonce,uint256 deadline`
    return [
      [`${name}TransferFrom(${fields})`, PERMISSIONS, readPermit2('permitted')],
      [`${name}WitnessTransferFrom(${fields},`, PERMISSIONS, readPermit2('permitted')],
    ] as const
  }),
  ...['TransferWithAuthorization', 'ReceiveWithAuthorization'].map(
    (name) => [`${name}(${AUTHORIZED})`, '', readAuthorized] as const,
  ),
]

function typedDataIntents(typedData: JudgedTypedData, chainId: number, facts: Facts): readonly Intent[] {
  const { domain, types, message } = typedData
  const primaryType = primaryTypeOf(types)
  const verifyingContract = domain.verifyingContract?.toLowerCase() ?? null
  const signed: Intent['typedData'] = { primaryType, verifyingContract, chainId: domain.chainId ?? ANY }
  const actions: readonly Action[] = ['sign_typed_data']
  const unknown = unclear(actions, { typedData: signed })
  const reader = readerOf(types, primaryType)
  if (reader === null) {
    const isClear = spendingTypeIn(types) === null && !isConsentToHash(types)
    return [isClear ? intentOf({ actions, typedData: signed }) : unknown]
  }
  const grants = reader(message, domain.verifyingContract)
  if (grants.length === 0 || grants.length > MAX_ITEMS) return [unknown]
  return grants.map((grant) => {
    const [token, to] = [addressOf(grant.token), addressOf('spender' in grant ? grant.spender : grant.recipient)]
    const amount = amountOf(grant.amount)
    if (to === null || amount === null) return unknown
    // Without the contract in the domain, the permit is good for every token that takes it.
    const moves = token === null ? ANYTHING : tokenMoved(chainId, token, amount, facts)
    if ('recipient' in grant)
      return intentOf({
        actions: [...actions, 'transfer'],
        typedData: signed,
        recipient: to,
        isToOwnWallet: facts.isOwn(to),
        moves,
      })
    if (amount === 0n && token !== null) return intentOf({ actions: [...actions, 'approve'], typedData: signed })
    return intentOf({ actions: [...actions, 'approve'], typedData: signed, recipient: ANY, spender: to, moves })
  })
}

const HASHED = /^bytes(32)?(\[.*)?$/
const ADDRESSED = /^address(\[.*)?$/

/**
 * Bytes or a hash, and no address: as with a message of 32 bytes, what the hash is of is not known. So are orders signed that are a
 * Merkle root (`Root(bytes32 root)`), actions of exchanges (`Agent(string source,bytes32 connectionId)`) and messages of accounts.
 */
function isConsentToHash(types: JudgedTypedData['types']): boolean {
  const fields = Object.values(types).flat()
  return fields.some(({ type }) => HASHED.test(type)) && !fields.some(({ type }) => ADDRESSED.test(type))
}

function readPermit({ spender, value }: Readonly<Record<string, unknown>>, token: unknown): readonly Grant[] {
  return [{ token, spender, amount: value }]
}

function readDai({ spender, allowed }: Readonly<Record<string, unknown>>, token: unknown): readonly Grant[] {
  return [{ token, spender, amount: allowed === false ? '0' : UNLIMITED }]
}

function readAuthorized({ to, value }: Readonly<Record<string, unknown>>, token: unknown): readonly Grant[] {
  return [{ token, recipient: to, amount: value }]
}

function readPermit2(field: 'details' | 'permitted'): Reader {
  return (message) => {
    const { spender, [field]: items } = message
    return [items].flat().map((item: unknown) => {
      const { token, amount } = (item ?? {}) as { readonly token?: unknown; readonly amount?: unknown }
      return { token: token ?? '', amount, spender }
    })
  }
}

/** The reader for exactly these types; a type with another field is another type. */
function readerOf(types: JudgedTypedData['types'], primaryType: string): Reader | null {
  const own = encoded(types, primaryType)
  for (const [start, other, reader] of READERS) {
    const isSame = start.endsWith(',') ? own.startsWith(start) : own === start
    const [struct = ''] = other.split('(')
    if (isSame && (other === '' || encoded(types, struct) === other)) return reader
  }
  return null
}

function encoded(types: JudgedTypedData['types'], struct: string): string {
  const fields = Object.hasOwn(types, struct) ? (types[struct] ?? []) : []
  return `${struct}(${fields.map(({ name, type }) => `${type} ${name}`).join(',')})`
}

/** The type that no other one refers to; readers of requests refuse data with several of them. */
function primaryTypeOf(types: JudgedTypedData['types']): string {
  const used = new Set(Object.values(types).flatMap((fields) => fields.map(({ type }) => type.split('[')[0] ?? '')))
  return Object.keys(types).find((name) => !used.has(name)) ?? ''
}

const ADDRESS = /^0x[0-9a-fA-F]{40}$/
const DIGITS = /^\d{1,78}$/

function addressOf(value: unknown): string | null {
  return typeof value === 'string' && ADDRESS.test(value) ? value.toLowerCase() : null
}

function amountOf(value: unknown): bigint | typeof ANY | null {
  if (value === UNLIMITED) return ANY
  if (typeof value !== 'string' || !DIGITS.test(value)) return null
  return mostOf(BigInt(value)) === UNLIMITED ? ANY : BigInt(value)
}
