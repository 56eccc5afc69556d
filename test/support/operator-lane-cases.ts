/** For each kind of finding about a lane: facts that cause it, its subject, and texts of its problem and advice. */
import {
  ADDRESS,
  ages,
  asks,
  CHAIN,
  GWEI,
  HEAD_ID,
  head,
  ids,
  lane,
  lease,
  stuck,
  UNSENT,
  unsigned,
  waits,
} from './operator-facts.ts'
import { signed } from './recorded-transactions.ts'

export const NONCE = signed.data.nonce

/** A cancellation that was requested a moment ago. */
const wished = (facts: { readonly spare?: bigint } = {}) => ({
  counts: waits({ wishes: 1 }),
  ids: ids({ wish: HEAD_ID }),
  ages: ages({ wish: 100 }),
  wish: head({ type: 'CancellationRequested', data: { requestedAt: signed.data.signedAt } }),
  spare: 0n,
  ...facts,
})
const SPED_UP = { type: 'SpeedUpRequested', data: { requestedAt: signed.data.signedAt, gasPriority: 'high' } } as const
const capped = (cap: bigint) => ({ ...CHAIN, settings: { ...CHAIN.settings, maxFeePerGasWei: cap * GWEI } })

const refused = {
  type: 'TransactionAwaitingFunds',
  data: { hash: signed.data.hash, refusedAt: signed.data.signedAt },
} as const

export const LANE_CASES = {
  lane_without_holder: [
    [
      () => lane(unsigned),
      `ethereum ${ADDRESS}`,
      /2 requests to be signed, .* no signer holds its partition/,
      /a job brings the partition to a signer/,
    ],
    [
      () => lane({ ...unsigned, wallet: { id: 'wal_1', label: 'joint', type: 'mpc', tenantId: 'acme' } }),
      `ethereum ${ADDRESS}`,
      /no signer holds/,
      /jobs -- failed mpc-lane/,
    ],
    [
      () => lane({ ...unsigned, signLease: lease(-5_000) }),
      `ethereum ${ADDRESS}`,
      /no signer holds/,
      /jobs -- failed lane/,
    ],
  ],
  lane_not_signing: [
    [
      () => lane({ ...unsigned, signLease: lease(5_000) }),
      `ethereum ${ADDRESS}`,
      /signer@h:9 holds its partition \(lease sign-7\) but does not sign it/,
      /jobs -- failed lane[\s\S]*--scale signer=4/,
    ],
  ],
  not_sent: [
    [
      () => lane(UNSENT, { ...CHAIN, relayed: { noun: 'swap', setting: 'ETHEREUM_SWAP_RPC_URLS' } }),
      `ethereum ${ADDRESS}`,
      /2 transactions signed but not sent to a node/,
      /private relays that ETHEREUM_SWAP_RPC_URLS named.*jobs -- failed submit/s,
    ],
  ],
  not_mined: [
    [
      () => lane({ ages: ages({ head: 241_000 }) }),
      `ethereum ${ADDRESS}`,
      /4 min 1 s ago/,
      new RegExp(`${HEAD_ID}/speed-up`),
    ],
  ],
  gas_too_low: [
    [
      () => lane({ gas: { head: 207_391n, empty: 21_000n } }),
      `ethereum ${ADDRESS}`,
      /was signed with 21000 gas, and needs 207391 by the rules/,
      new RegExp(`replaced by a version with enough gas.*${HEAD_ID}/cancel`, 's'),
    ],
  ],
  fee_under_base: [
    [
      () => lane({}, asks(21n * GWEI)),
      `ethereum ${ADDRESS}`,
      /offers at most 20 gwei, but the base fee is 21 gwei/,
      new RegExp(`curl .*/v1/wallets/wal_1/transactions/${HEAD_ID}/speed-up`),
    ],
  ],
  fee_over_cap: [
    [
      () => stuck({ chains: [asks(500n * GWEI)] }),
      'ethereum',
      /501 gwei.*cap is 500 gwei/,
      /ETHEREUM_MAX_FEE_PER_GAS_WEI to more than 501000000000/,
    ],
  ],
  awaiting_funds: [
    [
      () => lane({ head: head(refused), nativeBalance: 5n * 10n ** 17n }),
      `ethereum ${ADDRESS}`,
      /needs 1\.00042 ETH including gas, but the wallet has 0\.5/,
      new RegExp(`Send at least 0\\.50042 ETH to ${ADDRESS}`),
    ],
  ],
  nonce_gap: [
    [
      () => lane({ gaps: [NONCE - 2, NONCE - 1] }),
      `ethereum ${ADDRESS}`,
      /Nonce 5, 6 is unused/,
      /\/v1\/wallets\/wal_1\/transfer/,
    ],
    [
      () => lane({ gaps: [NONCE - 1], spare: 2_000n * GWEI }),
      `ethereum ${ADDRESS}`,
      /The wallet lacks 40000000000000 wei for a transaction of nothing/,
      new RegExp(`Send at least 0\\.000061 ETH to ${ADDRESS}`),
    ],
    [
      () => lane({ gaps: [NONCE - 1], spare: 42_000n * GWEI }),
      `ethereum ${ADDRESS}`,
      /cannot be mined\.$/,
      /\/v1\/wallets\/wal_1\/transfer/,
    ],
  ],
  lane_held: [
    [
      () => lane({ chainNonce: NONCE + 5, ids: ids({ ready: HEAD_ID }), ages: ages({ ready: 31_000 }) }),
      `ethereum ${ADDRESS}`,
      /at nonce 12 on chain, but the log has only nonces below 8/,
      /Backup, restore, failover/,
    ],
  ],
  nonce_taken: [
    [
      () => lane({ chainNonce: NONCE + 1, ages: ages({ head: 31_000 }) }),
      `ethereum ${ADDRESS}`,
      /at nonce 8 on chain, .* with nonce 7 is not recorded as mined/,
      /who else has this key/,
    ],
  ],
  wish_not_done: [
    [
      () => lane({ counts: waits({ wishes: 1 }), ids: ids({ wish: HEAD_ID }), ages: ages({ wish: 31_000 }) }),
      `ethereum ${ADDRESS}`,
      /not signed/,
      /ETHEREUM_MAX_FEE_PER_GAS_WEI higher/,
    ],
    [
      () => lane(wished(), capped(21n)),
      `ethereum ${ADDRESS}`,
      /needs at least 22\.5 gwei per gas, 12\.5 % more than before, but the cap is 21 gwei/,
      /ETHEREUM_MAX_FEE_PER_GAS_WEI to at least 22500000000 \(wei\)/,
    ],
    [
      // A cancellation is paid by the amount that it frees; a speed-up is not.
      () => lane({ ...wished({ spare: -(10n ** 20n) }), wish: head(SPED_UP) }),
      `ethereum ${ADDRESS}`,
      /the wallet lacks [\d.]+ ETH/,
      /Send at least [\d.]+ ETH to 0x\w+: it is then signed automatically/,
    ],
  ],
  lease_expired: [
    [
      () => lane({ counts: waits({ unsent: 1 }), submitLease: lease(-21_000, 'submit-7') }),
      `ethereum ${ADDRESS}`,
      /signer@h:9 died or hangs while it held the partition of the lane to submit \(lease submit-7\)/,
      /--detach submitter/,
    ],
  ],
} as const
