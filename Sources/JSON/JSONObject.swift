/// The members of a JSON object in the order they were written.
///
/// Two objects are equal when they have equal members, in any order.
public struct JSONObject: Sendable {
    /// A name and its value.
    public struct Member: Sendable, Hashable {
        public let name: Name
        public var value: JSONValue

        /// A member for ``JSONObject/init(_:)``.
        public init(name: Name, value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    /// In the order in which they were read or added. The subscript changes them.
    public private(set) var members: [Member]

    /// - Parameter members: each name once. This is not checked.
    public init(_ members: [Member] = []) {
        self.members = members
    }

    /// The names of all members, in their order.
    public var names: [Name] { members.map(\.name) }
    /// True for `{}`.
    public var isEmpty: Bool { members.isEmpty }

    /// The value of a member; `nil` if there is none. Setting `nil` removes the member.
    public subscript(name: Name) -> JSONValue? {
        get { members.first { $0.name == name }?.value }
        set {
            guard let newValue else { return members.removeAll { $0.name == name } }
            if let index = members.firstIndex(where: { $0.name == name }) {
                members[index].value = newValue
            } else {
                members.append(Member(name: name, value: newValue))
            }
        }
    }
}

extension JSONObject: Hashable {
    public static func == (left: JSONObject, right: JSONObject) -> Bool {
        left.members.count == right.members.count && left.members.allSatisfy { right[$0.name] == $0.value }
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(Set(members))
    }
}

extension JSONObject: Sequence {
    public func makeIterator() -> IndexingIterator<[Member]> { members.makeIterator() }
}
