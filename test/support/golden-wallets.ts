/** Of the golden history: a wallet that is opened on another network, and one of a batch. */
const OWN = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
/** That of `wal_1`. */
const HD_KEY = { address: OWN, key: { kind: 'hd', tenantId: 'acme', index: 7 }, derivationPath: "m/44'/60'/0'/0/7" }
const NOT_MPC = { publicKey: null, threshold: null, parties: null }
const opening = { key: 'networks', fingerprint: 'of-networks', resourceId: 'req_networks' }
const inBatch = { key: 'wallets', fingerprint: 'of-wallets', resourceId: 'walb_1' }

export const MANY_WALLETS = [
  [
    ['wallet-wal_1', 'NetworkOpened.v1', { walletId: 'wal_4' }, opening],
    ['wallet-wal_4', 'WalletRequested.v3', { openedFrom: { walletId: 'wal_1', address: OWN } }, opening],
  ],
  [['wallet-wal_4', 'WalletCreated.v2', { ...HD_KEY, ...NOT_MPC }]],
  [['wallet-wal_5', 'WalletRequested.v3', { openedFrom: null, batchId: 'walb_1', externalId: 'customer-44' }, inBatch]],
] as const
