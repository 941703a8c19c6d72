/// Who made a record and who changed it last, as a copy of it says that was made elsewhere.
///
/// A record that is restored keeps them; any other save takes them from the caller and the clock.
public struct Provenance: Sendable, Hashable {
    public var created: Signature
    public var modified: Signature

    public init(created: Signature, modified: Signature) {
        self.created = created
        self.modified = modified
    }
}
