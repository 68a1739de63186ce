// The certificate library, loaded behind the polyfill that its container needs to be there first.

import 'reflect-metadata'

export * from '@peculiar/x509'
