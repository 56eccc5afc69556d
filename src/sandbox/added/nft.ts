/** The factory of collections, which each local chain has at its public address. */
import type { Addition } from '../addition.ts'

export const nft: Addition = {
  async contracts() {
    const [{ FACTORY_CREATION_CODE }, { planDeployment }] = await Promise.all([
      import('../../nft/contracts/artefact.ts'),
      import('../deploy.ts'),
    ])
    return { plan: () => ({ nftFactory: planDeployment(FACTORY_CREATION_CODE) }) }
  },
}
