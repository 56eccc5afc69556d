/** What signatures over typed data are judged as: permits are allowances, and unknown forms that spend may be anything. */
import t from 'tap'
import { judgedSignature } from '../../src/policies/signature-intents.ts'
import { BOB, factsOf, openingData, shown, UNKNOWN, USDC } from '../support/policies.ts'

const TOKEN = USDC.contract ?? ''
const MAX = ((1n << 256n) - 1n).toString()
const PERMIT = 'Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)'
const DAI = 'Permit(address holder,address spender,uint256 nonce,uint256 expiry,bool allowed)'
const DETAILS = 'PermitDetails(address token,uint160 amount,uint48 expiration,uint48 nonce)'
const SINGLE = 'PermitSingle(PermitDetails details,address spender,uint256 sigDeadline)'
const BATCH = 'PermitBatch(PermitDetails[] details,address spender,uint256 sigDeadline)'
const PERMISSIONS = 'TokenPermissions(address token,uint256 amount)'
const FROM = 'TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline'
const FROM_MANY = 'TokenPermissions[] permitted,address spender,uint256 nonce,uint256 deadline'
const AUTHORIZED =
  'TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)'

/** @param types in the notation of EIP-712 */
function sign(types: readonly string[], message: object, domain: object = {}): readonly string[] {
  const structs = types.map((text) => {
    const [name = '', fields = ''] = text.slice(0, -1).split('(')
    const declared = fields.split(',').map((field) => field.split(' '))
    return [name, declared.map(([type = '', field = '']) => ({ name: field, type }))] as const
  })
  const typedData = {
    domain: { chainId: 1, verifyingContract: TOKEN, ...domain },
    types: Object.fromEntries(structs),
    message: message as Readonly<Record<string, unknown>>,
  }
  return shown(judgedSignature({ ...openingData(), typedData }, factsOf()))
}

const granted = (amount: string) => `sign_typed_data+approve * bob - - 1/usdc ${amount}`
const REVOKED = ['sign_typed_data+approve - - - - - -']
const UNCLEAR = ['sign_typed_data+transfer+approve+nft_transfer * * * * * *']
const wanted = { spender: BOB, value: '5', nonce: '0', deadline: '1' }

t.test('permits of tokens are allowances', (t) => {
  t.strictSame(sign([PERMIT], wanted), [granted('5')])
  t.strictSame(sign([PERMIT], { ...wanted, value: MAX }), [granted('*')])
  t.strictSame(sign([PERMIT], { ...wanted, value: '0' }), REVOKED)
  const anyToken = sign([PERMIT], wanted, { verifyingContract: undefined })
  t.strictSame(anyToken, ['sign_typed_data+approve * bob - - * *'], 'no contract, so every token')
  t.strictSame(sign([DAI], { spender: BOB, allowed: true }), [granted('*')])
  t.strictSame(sign([DAI], { spender: BOB, allowed: false }), REVOKED)
  t.strictSame(sign([AUTHORIZED], { to: BOB, value: '4' }), ['sign_typed_data+transfer bob - - - 1/usdc 4'])
  t.end()
})

t.test('permits of Permit2 are allowances of the tokens that they name', (t) => {
  const permit2 = { verifyingContract: UNKNOWN }
  const item = (amount: string) => ({ token: TOKEN, amount, expiration: '1', nonce: '0' })
  const most = ((1n << 160n) - 1n).toString()
  t.strictSame(sign([SINGLE, DETAILS], { details: item('5'), spender: BOB }, permit2), [granted('5')])
  const two = { details: [item('5'), item(most)], spender: BOB }
  t.strictSame(sign([BATCH, DETAILS], two, permit2), [granted('5'), granted('*')])
  const one = { permitted: { token: TOKEN, amount: '6' }, spender: BOB }
  t.strictSame(sign([`PermitTransferFrom(${FROM})`, PERMISSIONS], one, permit2), [granted('6')])
  const many = { ...one, permitted: [one.permitted, one.permitted] }
  const batch = [`PermitBatchTransferFrom(${FROM_MANY})`, PERMISSIONS]
  t.strictSame(sign(batch, many, permit2), [granted('6'), granted('6')])
  const order = [`PermitWitnessTransferFrom(${FROM},Order witness)`, 'Order(uint256 amount)', PERMISSIONS]
  t.strictSame(sign(order, { ...one, witness: { amount: '1' } }, permit2), [granted('6')])
  t.end()
})

t.test('what looks as if it let others spend may be anything, and what does not moves nothing', (t) => {
  t.strictSame(sign([PERMIT.replace(')', ',bytes more)')], wanted), UNCLEAR, 'another field, another type')
  t.strictSame(sign([PERMIT], { ...wanted, value: '0x5' }), UNCLEAR, 'a value that is no amount')
  t.strictSame(sign([SINGLE, DETAILS.replace('uint160', 'uint128')], {}), UNCLEAR)
  t.strictSame(sign([BATCH, DETAILS], { details: [], spender: BOB }), UNCLEAR)
  t.strictSame(sign([BATCH, DETAILS], { details: Array(65).fill({}), spender: BOB }), UNCLEAR)
  t.strictSame(sign(['SafeTx(address to,uint256 value,bytes data)'], {}), UNCLEAR)
  t.strictSame(sign(['Root(bytes32 root)'], { root: `0x${'11'.repeat(32)}` }), UNCLEAR, 'the root of orders of Blur')
  t.strictSame(sign(['Agent(string source,bytes32 connectionId)'], {}), UNCLEAR, 'an action of an exchange')
  t.strictSame(sign(['SafeMessage(bytes message)'], {}), UNCLEAR)
  t.strictSame(sign(['Tree(Leaf[] leaves)', 'Leaf(bytes32[2] hashes)'], {}), UNCLEAR)
  t.strictSame(sign(['Vote(address from,bytes32 proposal,uint32 choice)'], {}), ['sign_typed_data - - - - - -'])
  t.strictSame(sign(['Mail(string contents)'], { contents: 'Hello' }), ['sign_typed_data - - - - - -'])
  t.end()
})
