/// The creator and last editor of a record, as stated in a copy made elsewhere.
///
/// Restored records keep them. All other saves set them from the caller and the clock.
public struct Provenance: Sendable, Hashable {
    public var created: Signature
    public var modified: Signature

    public init(created: Signature, modified: Signature) {
        self.created = created
        self.modified = modified
    }
}
