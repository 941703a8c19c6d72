public import Records

/// The rules for key-value stores. The limits are ``Records/KeyValueLimits``.
public enum KeyValueRules {
    /// Maximum number of operations in a request, which is enough to replace all keys by others.
    public static let operationsLimit = 2 * KeyValueLimits.keys
    /// Maximum number of removed keys that a store remembers for clients. When older ones are dropped, tokens from
    /// before their removal expire.
    public static let removalsLimit = 1024

    /// - Throws: `RecordError` BAD_REQUEST outside private databases, AUTHENTICATION_REQUIRED for an anonymous caller.
    public static func check(_ caller: Caller, in address: DatabaseAddress) throws {
        if address.scope != .private {
            throw RecordError(
                .badRequest,
                "A \(address.scope.rawValue) database has no key-value store; each user has one in the private database"
            )
        }
        if caller.access == .anonymous { throw GrantRules.signInNeeded }
    }

    /// The feed of a user's store.
    /// - Parameters:
    ///   - user: the user's number.
    ///   - latest: the latest change; `nil` if there is none.
    ///   - floor: the position up to which removals are no longer remembered.
    public static func feed(of user: Int64, latest: (position: Int64, moment: Timestamp)?, floor: Int64) -> FeedState {
        let (position, moment) = latest ?? (0, Timestamp(milliseconds: 0))
        return FeedState(
            scope: .private, databaseNumber: user, subject: .keyValues, position: max(position, floor), moment: moment,
            floor: floor)
    }

    /// The error for explaining a token of a key-value store as a token of a zone or database.
    public static let otherToken = RecordError(
        .badRequest,
        "This token is of a key-value store; it is good for the changes of this store, which 'keyvalues/changes' tells")
}

/// Applies operations to a user's key-value store, for all engines.
public struct KeyValueModifier {
    private var sizes: [Name: Int]

    /// - Parameter sizes: the size in bytes of each present value.
    public init(_ sizes: [Name: Int]) {
        self.sizes = sizes
    }

    public var usage: KeyValueUsage { KeyValueUsage(keys: sizes.count, bytes: sizes.values.reduce(0, +)) }

    /// Checks all operations together.
    /// - Returns: the operations that change something: for each key the last one, in order.
    /// - Throws: `RecordError` if one is refused, or the store would be too large. Nothing must be stored in this
    ///   case.
    public mutating func admit(_ operations: [KeyValueOperation]) throws -> [KeyValueOperation] {
        if operations.count > KeyValueRules.operationsLimit {
            throw RecordError.tooManyItems(in: "operations", operations.count, limit: KeyValueRules.operationsLimit)
        }
        var last: [Name: Int] = [:]
        for (index, operation) in operations.enumerated() {
            try KeyValueLimits.check(operation)
            last[operation.key] = index
        }
        var admitted: [KeyValueOperation] = []
        for (index, operation) in operations.enumerated() where last[operation.key] == index {
            switch operation {
            case .set(let key, let value): sizes[key] = value.size
            case .remove(let key): if sizes.removeValue(forKey: key) == nil { continue }
            }
            admitted.append(operation)
        }
        try KeyValueLimits.check(usage)
        return admitted
    }
}
