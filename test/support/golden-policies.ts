/** The history of a policy in the golden log: drafts, a shadow with its seed, versions, what they judged and refused, and tags. */

type Step = readonly [stream: string, event: string, patch?: Readonly<Record<string, unknown>>]

const POLICY = 'policy-acme-mainnet'
const NO_RULES = { default: 'allow', maxPriceAgeSeconds: 90_000, lists: {}, rules: [] }
const OTHER = { policy: NO_RULES, hash: 'b2'.repeat(32), revision: 2 }
/** As PolicyPublished.v1.json has it. */
const FIRST_HASH = '47e44070aa2fb66ca2af4751fb34eba57c00bfe327ab5bcad650cea7f5bbd412'
const COUNTER = 'policy acme mainnet 0123456789abcdef0123456789abcdef wal_1'
const RESERVED = {
  ...{ counter: COUNTER, unit: 'USD', decimals: 6, rule: 'daily-cap', windowSeconds: 86_400 },
  ...{ bucket: '2026-12-02T12:00:00.000Z', limit: '5000000000', amount: '110500000', kept: '500000' },
}
const judgedBy = (version: number, shadow?: number) => ({
  version,
  ...(shadow === undefined ? {} : { shadow }),
  tags: ['hot', 'payroll'],
  prices: [{ assetId: 'eip155:1/slip44:60', usd: '2000.5', at: '2026-12-02T11:59:00.000Z' }],
})

const FIRST: readonly (readonly Step[])[] = [
  [['wallet-wal_1', 'WalletTagged.v1']],
  [[POLICY, 'PolicyDrafted.v1']],
  [[POLICY, 'PolicyShadowed.v1']],
  // A shadow counts beside what must fit, and what was spent before it is added up.
  [
    [
      'transaction-tx_26',
      'TransferRequested.v3',
      { policy: judgedBy(0, 1), reservations: [{ ...RESERVED, mustFit: false }] },
    ],
  ],
  [['policyseeding-acme-mainnet', 'CountersSeeded.v1']],
  [[POLICY, 'PolicySeeded.v1']],
  [[POLICY, 'PolicyPublished.v1']],
  [['transaction-tx_27', 'TransferRequested.v3', { policy: judgedBy(1), reservations: [RESERVED] }]],
  [['transaction-tx_27', 'TransactionFailed.v1']],
  [['policydenials-acme-mainnet-2026-12-02T12:05-0123456789abcdef', 'PolicyRefused.v1']],
  [[POLICY, 'PolicyDrafted.v1', { revision: 2, policy: NO_RULES, note: null }]],
  [[POLICY, 'PolicyShadowed.v1', { ...OTHER, version: 2, isSeeded: true }]],
  [
    [POLICY, 'PolicyShadowEnded.v1'],
    [
      POLICY,
      'PolicyPublished.v1',
      { ...OTHER, version: 3, previousVersion: 1, previousHash: FIRST_HASH, basis: 'counted' },
    ],
  ],
  // What was found on chain counts, and refuses nothing.
  [['foundspend-obs_1', 'SpendFound.v1', { policy: { ...judgedBy(3), prices: [] } }]],
  [
    [
      'foundspend-obs_2',
      'SpendFound.v1',
      { policy: { ...judgedBy(3), prices: [] }, reservations: [{ ...RESERVED, kept: '0', mustFit: false }] },
    ],
  ],
]

/** A permit counts in dollars, and what has no amount as one transaction; of a shadow too. */
const ONE = {
  ...RESERVED,
  ...{ counter: `policy acme mainnet ${'ab'.repeat(16)}`, unit: 'transactions', decimals: 0, rule: 'ten-a-day' },
  ...{ limit: '10', amount: '1', kept: '1' },
}
const OF_SHADOW = { ...ONE, counter: `policy acme mainnet ${'fe'.repeat(16)}`, mustFit: false }
const judged = (...reservations: readonly object[]) => ({ policy: judgedBy(3, 4), reservations })
const NO_WALLET = { ...judgedBy(3, 4), tags: [], prices: [] }
const VOUCHER = {
  tokenId: '13',
  recipient: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  amount: '1',
  metadata: { name: 'Lighthouse #13' },
  cid: 'bafkreigolden13',
  transactionId: null,
}
const CONTRACT = { chainId: 1, contract: '0x5FbDB2315678afecb367f032d93F642f64180aa3' }

/** What a policy judged besides transactions, and what it counts for good. */
const JUDGED: readonly (readonly Step[])[] = [
  [[POLICY, 'PolicyShadowed.v1', { ...OTHER, version: 4, isSeeded: true }]],
  [['signature-sig_3', 'MessageSignatureRequested.v1', judged(ONE, OF_SHADOW)]],
  [['signature-sig_3', 'SignatureMade.v1']],
  [['signature-sig_4', 'TypedDataSignatureRequested.v1', judged({ ...RESERVED, kept: RESERVED.amount })]],
  [['export-exp_3', 'WalletExportRequested.v1', judged(ONE)]],
  [
    ['mint-mint_6', 'MintRecorded.v1', { mintingType: 'LAZY', tokens: [VOUCHER] }],
    ['mint-mint_6', 'VoucherRequested.v1', { ...CONTRACT, ...judged(ONE, OF_SHADOW) }],
  ],
  [
    [
      'apikey-key_7',
      'ApiKeyIssued.v2',
      { digest: 'd7'.repeat(32), expiresAt: null, issuedBy: 'key_4', policy: NO_WALLET },
    ],
  ],
  [['apikey-key_7', 'ApiKeyChanged.v1', { expiresAt: null, changedBy: 'key_4', policy: NO_WALLET }]],
  [[POLICY, 'PolicyShadowEnded.v1', { version: 4 }]],
]

export const POLICIES = [...FIRST, ...JUDGED]
