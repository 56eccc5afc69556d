/**
 * A compromised coordinator with the real identity: it only gets signatures that the log contains, and never two of one
 * transfer that could both be mined.
 */
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { encodeMessage } from '../../src/keys/mpc/message.ts'
import { partyName } from '../../src/keys/mpc/party-names.ts'
import { encodeBegin, KIND, type SigningItem, type SigningSubject } from '../../src/keys/mpc/protocol.ts'
import type { UnsignedTransaction } from '../../src/keys/signer.ts'
import { goldenShares } from '../support/golden-shares.ts'
import { askToSign, builtTransfer, ETHER, GWEI, refusalKinds, signingItem, THIEF, tagAs } from '../support/mpc-asks.ts'
import { type MpcWallet, withMpcStage, withPuppeteer } from '../support/mpc-stage.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { onChain } from '../support/service-stage.ts'

const stage = await withMpcStage(t, { keys: [goldenShares(2, 3), goldenShares(2, 2)] })
const puppeteer = await withPuppeteer(t, stage)
const [wallet, other] = stage.wallets as [MpcWallet, MpcWallet]

const item = async (id: string, subject: SigningSubject | UnsignedTransaction, from = wallet) =>
  signingItem(from, id, 'kind' in subject ? subject : await tagAs(stage, id, subject))
const ask = (items: readonly SigningItem[], signers?: readonly number[]) => askToSign(puppeteer, items, signers)

// From here on accepted requests wait for a signature, and only the test requests it.
await stage.service.stopWorker('signer')
const pending = await stage.send(wallet, '1')
const next = await stage.send(wallet, '2')

t.test('a request that no intent covers is refused and logged by every party', async (t) => {
  const mail = { name: 'Mail', version: '1', chainId: 1_000_001 }
  const untagged = signingItem(wallet, pending, builtTransfer())
  const lies: readonly (readonly [string, SigningItem])[] = [
    ['fees without the tag of the request', untagged],
    ['another recipient', await item(pending, builtTransfer({ to: THIEF }))],
    ['another amount', await item(pending, builtTransfer({ value: ETHER + 1n }))],
    ['a call beside the money', await item(pending, builtTransfer({ data: '0xdeadbeef', gasLimit: 50_000n }))],
    ['another chain', await item(pending, builtTransfer({ chainId: 1 }))],
    ['a fee that nobody agreed to', await item(pending, builtTransfer({ maxFeePerGas: 10n ** 15n }))],
    ['a fee far above what was reserved', await item(pending, builtTransfer({ maxFeePerGas: 50n * GWEI }))],
    ['gas far above what was reserved', await item(pending, builtTransfer({ gasLimit: 1_000_000n }))],
    ['a nonce far ahead', await item(pending, builtTransfer({ nonce: 1_000 }))],
    ['a tip above the fee', signingItem(wallet, pending, builtTransfer({ maxPriorityFeePerGas: 3n * GWEI }))],
    ['a transaction that the log does not have', await item('tx_0', builtTransfer())],
    ['another wallet for it', await item(pending, builtTransfer(), other)],
    [
      'typed data that nobody asked for',
      {
        ...(await item('sig_0', {
          kind: 'typed_data',
          typedData: { domain: mail, types: { Mail: [{ name: 'to', type: 'string' }] }, message: { to: 'x' } },
        })),
        intent: { kind: 'signature', id: 'sig_0' },
      },
    ],
    [
      'a message that nobody asked for',
      {
        ...(await item('sig_0', { kind: 'message', message: Buffer.from('hi') })),
        intent: { kind: 'signature', id: 'sig_0' },
      },
    ],
    ['a message in the name of a transfer', await item(pending, { kind: 'message', message: Buffer.from('hi') })],
    [
      'a voucher that nobody asked for',
      {
        ...(await item('mint_0', { kind: 'message', message: Buffer.from('hi') })),
        intent: { kind: 'voucher', id: 'mint_0' },
      },
    ],
  ]
  for (const [what, lie] of lies) t.strictSame(refusalKinds(await ask([lie])), [['not_covered'], ['not_covered']], what)
  for (const party of [1, 2]) {
    const said = stage.parties.lines.filter(
      (line) => line.party === party && /the event log has no matching request/.test(line.msg),
    )
    t.equal(said.length, lies.length, `party ${party} logs each refusal`)
    t.ok(said.every(({ level, rule, intent }) => level === 50 && rule !== undefined && intent !== undefined))
  }
})

t.test('one forged item among valid ones is refused alone', async (t) => {
  const answers = await ask([
    await item(next, builtTransfer({ to: THIEF })),
    await item(pending, builtTransfer({ nonce: 7 })),
  ])
  t.strictSame(refusalKinds(answers), [
    ['not_covered', 'signed'],
    ['not_covered', 'signed'],
  ])
})

t.test(
  'a transfer that was signed under one nonce is signed under no other, and that nonce serves no other',
  async (t) => {
    const refused = async (asked: SigningItem, signers: readonly number[]) => {
      const [outcome] = (await ask([asked], signers)).values()
      const [first] = outcome ?? []
      return first === undefined || first.ok ? undefined : first.refusal
    }
    const claimed = { kind: 'nonce_claimed', nonce: 7 }
    for (const signers of [
      [1, 2],
      [1, 3],
      [3, 2],
    ])
      t.match(
        await refused(await item(pending, builtTransfer({ nonce: 0 })), signers),
        signers[0] === 3 ? { kind: 'given_up' } : claimed,
      )
    t.match(await refused(await item(next, builtTransfer({ nonce: 7, value: 2n * ETHER })), [2, 3]), {
      kind: 'nonce_claimed',
    })
    const [again] = (await ask([await item(pending, builtTransfer({ nonce: 7 }))], [2, 1])).values()
    t.ok(again?.[0]?.ok, 'a repeated request is signed again')
  },
)

t.test('a request that does not fit the key is refused whole', async (t) => {
  const good = await item(next, builtTransfer({ value: 2n * ETHER, nonce: 8 }))
  t.strictSame(refusalKinds(await ask([good], [1, 2, 3])), [['invalid'], ['invalid'], ['invalid']], 'too many signers')
  t.strictSame(refusalKinds(await ask([{ ...good, keyId: 'mpk_0' }])), [['key_unknown'], ['key_unknown']])
  const absent = { ceremony: 'sign', signers: [1, 3], finisher: 1, items: [good] } as const
  t.strictSame(
    refusalKinds(await puppeteer.ask([2], absent, { timeoutMs: 60_000 })),
    [['invalid']],
    'party 2 is no signer',
  )
  const foreign = { ...absent, signers: [1, 2], finisher: 3 }
  t.strictSame(refusalKinds(await puppeteer.ask([1, 2], foreign, { timeoutMs: 60_000 })), [['invalid'], ['invalid']])
})

t.test('a message that is not a request of a coordinator is not answered', async (t) => {
  const session = randomBytes(16).toString('hex')
  const address = { session, round: 0, sequence: 0, sender: 'coordinator', receiver: partyName(1) }
  const begin = encodeBegin({
    ceremony: 'sign',
    signers: [1, 2],
    finisher: 1,
    items: [await item(pending, builtTransfer())],
  })
  const said = () => stage.parties.lines.filter(({ party, msg }) => party === 1 && msg === 'message rejected')
  const before = said().length
  puppeteer.channel.send(partyName(1), encodeMessage({ ...address, kind: KIND.begin, payload: Buffer.from('{}') }))
  puppeteer.channel.send(partyName(1), encodeMessage({ ...address, kind: KIND.signingRound, round: 1, payload: begin }))
  puppeteer.channel.send(
    partyName(1),
    encodeMessage({ ...address, kind: KIND.ceremonyRound, round: 1, payload: begin }),
  )
  puppeteer.channel.send(
    partyName(1),
    encodeMessage({ ...address, kind: KIND.begin, sender: partyName(2), payload: begin }),
  )
  puppeteer.channel.send(
    partyName(1),
    encodeMessage({ ...address, kind: KIND.begin, receiver: partyName(2), payload: begin }),
  )
  puppeteer.channel.send(partyName(1), Buffer.from('nonsense'))
  await eventually(() => said().length === before + 6)
  t.strictSame(
    said()
      .slice(before)
      .map(({ reason }) => reason),
    ['not_asked_for', 'not_asked_for', 'not_asked_for', 'sender_is_not_the_peer', 'not_for_us', 'unknown_version'],
  )
})

t.test(
  'the lane gives the transfer the nonce that was claimed, others fill what lies before it, and each is mined once',
  async (t) => {
    const fillers = []
    for (let index = 0; index < 6; index += 1) fillers.push(await stage.send(wallet, '0.1'))
    await stage.service.startWorker('signer')
    await stage.settle()
    t.equal((await stage.read(wallet, pending)).nonce, 7)
    const nonces = await Promise.all([next, ...fillers].map(async (id) => (await stage.read(wallet, id)).nonce))
    t.strictSame(nonces.toSorted(), [0, 1, 2, 3, 4, 5, 6])
    const mined = await onChain(stage, wallet)
    t.strictSame(
      mined.map(({ nonce }) => nonce),
      [0, 1, 2, 3, 4, 5, 6, 7],
    )
  },
)

t.end()
