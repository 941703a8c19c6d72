internal import RecordStore
internal import Records
internal import Synchronization

/// A container and environment in memory.
final class InMemoryStore: Sendable {
    let clock: @Sendable () -> Timestamp
    var codec: TokenCodec { tokens.withLock { $0 } }
    let signals = Signals()
    let queries: QueryLog
    let assetTickets = AssetTickets(key: TokenSeal.makeKey())
    private let tokens: Mutex<TokenCodec>
    private let state: Mutex<InMemoryState>

    /// Maximum number of cascaded deletions before the rest of a cascade is processed separately.
    let cascadeLimit: Int

    init(journal: JournalLimits, cascadeLimit: Int, clock: @escaping @Sendable () -> Timestamp) {
        self.cascadeLimit = cascadeLimit
        state = Mutex(InMemoryState(journalLimits: journal))
        self.clock = clock
        queries = QueryLog(since: Timestamp.now())
        tokens = Mutex(
            TokenCodec(
                seal: TokenSeal(key: TokenSeal.makeKey()),
                epochs: [Epoch(number: .random(in: 1...UInt32.max), after: 0)]))
    }

    func expireTokens() {
        tokens.withLock { $0.retire(for: TokenSeal(key: TokenSeal.makeKey())) }
    }

    func read<Value: Sendable>(_ body: (InMemoryState) throws -> Value) throws -> Value {
        try body(state.withLock { $0 })
    }

    /// Registers a user.
    func enter(_ user: Name) {
        state.withLock { _ = $0.userNumber(user) }
    }

    /// Runs a change and discards it if it throws.
    func write<Value: Sendable>(_ body: (inout InMemoryState) throws -> Value) throws -> Value {
        let value = try state.withLock { state in
            var changed = state
            let value = try body(&changed)
            state = changed
            return value
        }
        signals.send()
        return value
    }
}

/// The data of a container and environment.
struct InMemoryState: Sendable {
    struct Row: Sendable {
        var record: StoredRecord
        var position: Int64
        /// Position at which the present record was created.
        var born: Int64
        var isDeleted = false
        /// True if a record of this name was deleted before.
        var isRenewed = false
        var references: [(field: Name, reference: Reference)] = []
        var assets: Set<AssetField> = []
        /// The request that made the latest change.
        var requestID: String?
        /// Earlier states, oldest first.
        var earlier: [RecordJournalEntry] = []
        /// In a mirror: the changes that the origin does not have. Its position and present version are those of the
        /// row.
        var edit: UnsentEdit?
    }

    /// A field that refers to a file. Several references from one field count once.
    struct AssetField: Hashable {
        let field: Name
        let checksum: FileChecksum

        static func all(of fields: some Sequence<Field>) -> Set<AssetField> {
            Set(
                fields.flatMap { field in
                    field.value.assets.compactMap { asset in
                        FileChecksum(asset.fileChecksum).map { AssetField(field: field.name, checksum: $0) }
                    }
                })
        }
    }

    struct AssetFile {
        let size: Int64
        var inUseUntil: Timestamp
    }

    struct ZoneRow: Sendable {
        let number: Int64
        /// `nil` in the public database.
        let owner: Name?
        let name: Name
        var position: Int64
        var moment: Timestamp
        /// How the zone was deleted; `nil` while it exists.
        var end: ZoneChange.Kind?
        var rows: [Name: Row] = [:]
        /// In the view of a guest: the zone whose shared hierarchies it shows.
        var base: Int64?
        /// True if the zone mirrors one of another container.
        var isMirror = false
        /// Names that the origin still has.
        var originNames: Set<Name> = []
    }

    struct ShareRow: Sendable {
        let zone: Int64
        var participant: ZoneParticipant
        var isLive: Bool
        var position: Int64
        var moment: Timestamp
    }

    struct SubscriptionRow: Sendable {
        var owned: OwnedSubscription
        /// Number of the zone with which it ends.
        let zone: Int64?
    }

    /// A user's key-value store.
    struct KeyValueStore: Sendable {
        /// Removed keys too.
        var changes: [Name: KeyValueChange] = [:]
        /// Removals up to here were forgotten.
        var floor: Int64 = 0
    }

    /// A share, and what its guests may do.
    struct HierarchyRow: Sendable {
        let hierarchy: Hierarchy
        let shortGUID: String
        var isLive = true
        var guests: [Name: SharePermission] = [:]
    }

    var schema = Schema.initial
    /// Oldest first.
    var history: [SchemaHistoryEntry] = []
    /// The last assigned position.
    var position: Int64 = 0
    var users: [Name: Int64] = [:]
    var zones: [Int64: ZoneRow] = [:]
    var shares: [ShareRow] = []
    var subscriptions: [SubscriptionRow] = []
    /// By user.
    var keyValues: [Name: KeyValueStore] = [:]
    var hierarchies: [Int64: HierarchyRow] = [:]
    var assets: [FileChecksum: AssetFile] = [:]
    /// Numbers of used uploads, and the time until which they are remembered.
    var spentReceipts: [[UInt8]: Timestamp] = [:]
    let journalLimits: JournalLimits
    /// Marks of the mirroring by user; the name of the public database is empty.
    var marks: [Name: [Name: String]] = [:]
    /// Deleted records whose referrers must be deleted before the write ends.
    var deletedTargets: [DeletedTarget] = []
    /// Trees of parents to walk before the write ends.
    var walks: [HierarchyWalk.Item] = []

    mutating func nextPosition() -> Int64 {
        position += 1
        return position
    }

    /// Turns a record into a deletion.
    mutating func delete(
        _ name: Name, in zone: Int64, by signature: Signature, requestID: String? = nil, isEdit: Bool = true
    ) {
        guard var row = zones[zone]?.rows[name] else { return }
        let position = nextPosition()
        if isEdit, takesEdits(of: row.record.recordType, in: zone) {
            if let edit = row.edit {
                // The origin never heard of a record that was created here and is deleted again.
                if edit.base == nil, edit.sent == nil, edit.theirs == nil { row.edit = nil }
            } else {
                row.edit = UnsentEdit(
                    recordID: row.record.recordID, since: position, position: position, mine: nil, base: row.record)
            }
        }
        row.earlier = earlier(than: row, replacedAt: signature.timestamp)
        row.requestID = requestID
        row.isDeleted = true
        row.position = position
        row.references = []
        endUses(row.assets, now: signature.timestamp)
        row.assets = []
        row.record.modified = signature
        row.record.recordChangeTag = String(position, radix: 36)
        row.record.parent = nil
        row.record.sharing = nil
        row.record.fields = .empty
        zones[zone]?.rows[name] = row
        touch(zone, position, now: signature.timestamp)
    }

    /// True if a change of a record is one that the origin of a mirror does not have.
    func takesEdits(of recordType: Name, in zone: Int64) -> Bool {
        recordType != Schema.usersType && zones[zone]?.isMirror == true
    }

    /// Updates the position and time of a zone's latest change.
    mutating func touch(_ zone: Int64, _ position: Int64, now: Timestamp) {
        zones[zone]?.position = position
        zones[zone]?.moment = now
    }

    /// Updates the time of the last use of files.
    mutating func endUses(_ uses: Set<AssetField>, now: Timestamp) {
        for use in uses {
            guard let file = assets[use.checksum] else { continue }
            assets[use.checksum]?.inUseUntil = max(file.inUseUntil, now)
        }
    }

    mutating func userNumber(_ name: Name) -> Int64 {
        if let number = users[name] { return number }
        let number = Int64(users.count + 1)
        users[name] = number
        return number
    }
}
