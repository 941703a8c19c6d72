internal import RecordStore
internal import Synchronization

/// Keys for store files that do not exist yet.
///
/// A container can be read before anything is saved in it. Tokens from such a read must stay valid after the first
/// save, so the keys are needed before the file exists. They are derived from a secret of this process, so that
/// containers that are only read need no storage. After a restart such tokens are invalid unless a file was created. Processes with a common database
/// have a common secret there.
final class NewStoreKeys: Sendable {
    struct Keys: Sendable {
        let tokens: [UInt8]
        let assets: [UInt8]
        let epoch: UInt32
    }

    private let secret = TokenSeal.makeKey()
    private let home: any StoreHome
    /// Number of files created for each store. A container that is deleted and created again gets new keys, which
    /// invalidates its old tokens.
    private let made = Mutex<[StoreKey: Int]>([:])

    init(_ home: any StoreHome) {
        self.home = home
    }

    /// Blocks on the disk or on the network.
    func keys(of key: StoreKey) throws -> Keys {
        let shared = try home.secret()
        let secret = shared ?? secret
        let name = shared == nil ? "\(key) \(made.withLock { $0[key, default: 0] })" : "\(key)"
        let number = TokenSeal.makeKey(from: secret, for: "epoch \(name)").prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        return Keys(
            tokens: TokenSeal.makeKey(from: secret, for: "tokens \(name)"), assets: TokenSeal.makeKey(from: secret, for: "assets \(name)"),
            epoch: max(1, number))
    }

    /// Call after a file was created, so that the next one gets different keys.
    func use(of key: StoreKey) {
        made.withLock { $0[key, default: 0] += 1 }
    }
}
