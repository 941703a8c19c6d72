internal import Crypto
internal import CryptoExtras
internal import Dispatch
internal import Foundation
internal import Synchronization

/// Hashes passwords with scrypt (RFC 7914), one at a time on a separate thread, because each takes much time and
/// memory.
final class PasswordHashing: Sendable {
    /// The cost parameters of a hash.
    struct Cost: Sendable, Hashable {
        var rounds: Int
        var blockSize: Int
        var parallelism: Int

        /// 32 MiB and some tenths of a second.
        static let standard = Cost(rounds: 1 << 15, blockSize: 8, parallelism: 1)
    }

    /// Maximum number of waiting passwords. Further ones are refused.
    private static let waitingLimit = 8

    private let queue = DispatchQueue(label: "skylight.accounts.passwords", qos: .utility)
    private let waiting = Mutex(0)

    /// - Returns: `nil` if too many passwords are waiting.
    func hash(_ password: String, salt: [UInt8], cost: Cost) async throws -> [UInt8]? {
        let hasRoom = waiting.withLock { waiting in
            if waiting >= Self.waitingLimit { return false }
            waiting += 1
            return true
        }
        guard hasRoom else { return nil }
        defer { waiting.withLock { $0 -= 1 } }
        return try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result { try Self.hash(password, salt, cost) }) }
        }
    }

    private static func hash(_ password: String, _ salt: [UInt8], _ cost: Cost) throws -> [UInt8] {
        let key = try KDF.Scrypt.deriveKey(
            from: Array(password.utf8), salt: salt, outputByteCount: 32, rounds: cost.rounds, blockSize: cost.blockSize, parallelism: cost.parallelism)
        return key.withUnsafeBytes { Array($0) }
    }
}
