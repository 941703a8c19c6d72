/// The creator and last editor of a record, as stated in a copy made elsewhere.
///
/// Restored records keep them, and shares keep their participants as they are in the copy. All other saves set them from the caller and the clock.
public struct Provenance: Sendable, Hashable {
    /// The user who created the record, and the time.
    public var created: Signature
    /// The user who saved it last, and the time.
    public var modified: Signature
    /// The identifier in the link of the record's share, or of the share itself. It stays if no other share has it.
    public var shortGUID: String?

    /// The provenance of a record that is restored.
    public init(created: Signature, modified: Signature, shortGUID: String? = nil) {
        self.created = created
        self.modified = modified
        self.shortGUID = shortGUID
    }
}
