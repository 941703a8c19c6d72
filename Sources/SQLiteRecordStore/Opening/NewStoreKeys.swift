internal import RecordStore
internal import Synchronization

/// The keys that files will have which are not made yet.
///
/// A container can be read before anything was saved in it. The tokens of such a read must be good after the first save, so its keys are
/// known before there is a file to keep them in. They follow from a secret of this process, so nothing is kept for containers that are only
/// read; a token from before the first save is foreign after a restart.
final class NewStoreKeys: Sendable {
    struct Keys: Sendable {
        let tokens: [UInt8]
        let assets: [UInt8]
        let incarnation: UInt32
    }

    private let secret = TokenSeal.makeKey()
    /// How often files were made: a container that was deleted and made anew gets other keys, so its old tokens are not good in it.
    private let made = Mutex<[StoreKey: Int]>([:])

    func keys(of key: StoreKey) -> Keys {
        let name = "\(key) \(made.withLock { $0[key, default: 0] })"
        let number = TokenSeal.makeKey(from: secret, for: "incarnation \(name)").prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        return Keys(
            tokens: TokenSeal.makeKey(from: secret, for: "tokens \(name)"), assets: TokenSeal.makeKey(from: secret, for: "assets \(name)"),
            incarnation: max(1, number))
    }

    /// Notes that a file was made, so that another one gets other keys.
    func use(of key: StoreKey) {
        made.withLock { $0[key, default: 0] += 1 }
    }
}
