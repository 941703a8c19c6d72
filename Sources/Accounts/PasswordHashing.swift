internal import Crypto
internal import CryptoExtras
internal import Dispatch
internal import Foundation
internal import Synchronization

/// Turns passwords into hashes with scrypt (RFC 7914), one at a time and on a thread of its own: each takes long, and much memory.
final class PasswordHashing: Sendable {
    /// How much work a hash is.
    struct Cost: Sendable, Hashable {
        var rounds: Int
        var blockSize: Int
        var parallelism: Int

        /// 32 MiB, and some tenths of a second.
        static let standard = Cost(rounds: 1 << 15, blockSize: 8, parallelism: 1)
    }

    /// How many may wait: more are sent away at once.
    private static let waitingLimit = 8

    private let queue = DispatchQueue(label: "skylight.accounts.passwords", qos: .utility)
    private let waiting = Mutex(0)

    /// - Returns: `nil` when too many wait already.
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
