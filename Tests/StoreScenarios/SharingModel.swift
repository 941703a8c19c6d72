public import JSON
internal import Records

/// Who sees which record of one zone, computed from scratch at each question.
public struct SharingModel: Sendable {
    public struct Share: Sendable {
        public var name: Name
        public var root: Name
        public var link: String
        /// Users who were invited and did not accept, with what they may do.
        public var invited: [Name: Bool]
        /// Users who accepted, and whether they may write.
        public var guests: [Name: Bool] = [:]

        public init(name: Name, root: Name, link: String, invited: [Name: Bool]) {
            self.name = name
            self.root = root
            self.link = link
            self.invited = invited
        }
    }

    /// The parents of the living records.
    public var parents: [Name: Name?] = [:]
    public var shares: [Name: Share] = [:]

    public init() {}

    /// The share that a record is in: that of the nearest root above it.
    public func share(of record: Name) -> Share? {
        var passed: Set<Name> = []
        var next: Name? = record
        while let name = next, let parent = parents[name], passed.insert(name).inserted {
            if let share = shares.values.first(where: { $0.root == name }) { return share }
            next = parent
        }
        return nil
    }

    public func visible(to user: Name) -> Set<Name> {
        let records = parents.keys.filter { share(of: $0)?.guests[user] != nil }
        return Set(records).union(shares.values.filter { $0.guests[user] != nil }.map(\.name))
    }

    public func mayWrite(_ record: Name, _ user: Name) -> Bool { share(of: record)?.guests[user] == true }
}
