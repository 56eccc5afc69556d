/** Typed data that lets others spend: the forms of well-known protocols are found, and harmless data is not. */
import t from 'tap'
import { spendingTypeIn } from '../../src/core/spending-types.ts'
import type { Declaration } from '../../src/signatures/read-types.ts'
import { MAIL } from '../support/typed-data.ts'

/** `type name` in the notation of EIP-712: `Permit(address owner,uint256 value)`. */
function types(...encoded: string[]): Record<string, Declaration[]> {
  return Object.fromEntries(
    encoded.map((text) => {
      const [, struct = '', fields = ''] = /^([^(]+)\((.*)\)$/.exec(text) ?? []
      const declarations = fields.split(',').map((field) => {
        const [type = '', name = ''] = field.split(' ')
        return { name, type }
      })
      return [struct, declarations]
    }),
  )
}

const TOKEN_PERMISSIONS = 'TokenPermissions(address token,uint256 amount)'
const PERMIT_DETAILS = 'PermitDetails(address token,uint160 amount,uint48 expiration,uint48 nonce)'

const SPENDING: readonly (readonly [struct: string, ...encoded: string[]])[] = [
  ['Permit', 'Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)'],
  ['Permit', 'Permit(address holder,address spender,uint256 nonce,uint256 expiry,bool allowed)'],
  ['Permit', 'Permit(address spender,uint256 tokenId,uint256 nonce,uint256 deadline)'],
  ['PermitDetails', PERMIT_DETAILS, 'PermitSingle(PermitDetails details,address spender,uint256 sigDeadline)'],
  ['PermitDetails', PERMIT_DETAILS, 'PermitBatch(PermitDetails[] details,address spender,uint256 sigDeadline)'],
  [
    'PermitTransferFrom',
    'PermitTransferFrom(TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline)',
    TOKEN_PERMISSIONS,
  ],
  [
    'PermitBatchTransferFrom',
    'PermitBatchTransferFrom(TokenPermissions[] permitted,address spender,uint256 nonce,uint256 deadline)',
    TOKEN_PERMISSIONS,
  ],
  [
    'OrderComponents',
    'OrderComponents(address offerer,address zone,OfferItem[] offer,uint8 orderType,uint256 startTime,uint256 endTime,bytes32 zoneHash,uint256 salt,bytes32 conduitKey,uint256 counter)',
    'OfferItem(uint8 itemType,address token,uint256 identifierOrCriteria,uint256 startAmount,uint256 endAmount)',
  ],
  ['OfferItem', 'OfferItem(uint8 itemType,address token,uint256 startAmount)'],
  [
    'TransferWithAuthorization',
    'TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)',
  ],
  ['SafeTx', 'SafeTx(address to,uint256 value,bytes data,uint8 operation,uint256 nonce)'],
  ['ForwardRequest', 'ForwardRequest(address from,address to,uint256 value,uint256 gas,uint256 nonce,bytes data)'],
  ['MetaTransaction', 'MetaTransaction(uint256 nonce,address from,bytes functionSignature)'],
  ['Order', 'Order(address sellToken,address buyToken,uint256 sellAmount,uint256 buyAmount,uint32 validTo)'],
  ['ERC721Order', 'ERC721Order(uint8 direction,address maker)'],
  ['RFQOrder', 'RFQOrder(bytes32 hash)'],
  ['HyperliquidTransaction:Withdraw', 'HyperliquidTransaction:Withdraw(string destination,string amount,uint64 time)'],
  // Names that no list has.
  ['Grant', 'Grant(address spender,bytes32 what)'],
  ['Grant', 'Grant(address who,uint256[] maxAmount)'],
  ['Grant', 'Grant(address who,bytes instructions)'],
  ['Inner', 'Outer(address who,Inner inner)', 'Inner(uint256 amount)'],
]

t.test('permits, orders, signed transfers and calls of well-known protocols let others spend', (t) => {
  for (const [struct, ...encoded] of SPENDING) t.match(spendingTypeIn(types(...encoded)), { struct }, encoded.join())
  t.end()
})

t.test('a mail, a login, a vote and a lone number let nobody spend', (t) => {
  const { EIP712Domain: _, ...mail } = MAIL.types
  t.equal(spendingTypeIn(mail), null)
  for (const encoded of [
    'Login(address wallet,string statement,bytes32 nonce,uint64 issuedAt)',
    'Ballot(uint256 proposalId,uint8 support,address voter,uint256 nonce)',
    'Reading(string sensor,int256 value)',
    'Border(string sender,string reorderedText)',
  ])
    t.equal(spendingTypeIn(types(encoded)), null, encoded)
  t.end()
})
