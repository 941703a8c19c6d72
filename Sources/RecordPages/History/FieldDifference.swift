internal import Console
internal import JSON
internal import Records

/// A field that differs between two versions of a record.
struct FieldDifference: ViewModel {
    let name: String
    /// `added`, `changed` or `removed`.
    let kind: String
    let before: ValueView
    let after: ValueView

    /// The parts of a record's version that the comparison uses.
    struct Version {
        let fields: [Name: Field]
        let parent: Name?

        static let nothing = Version(fields: [:], parent: nil)

        init(fields: [Name: Field], parent: Name?) {
            self.fields = fields
            self.parent = parent
        }

        /// - Throws: `RecordError` INTERNAL_ERROR if the stored fields are damaged.
        init(_ text: FieldsText, parent: Name?) throws {
            fields = Dictionary(try text.decoded().map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
            self.parent = parent
        }
    }

    /// The differing fields, sorted by name. The parent of the record comes last.
    static func all(from before: Version, to after: Version, _ presenter: ValuePresenter) -> [FieldDifference] {
        var differences = Set(before.fields.keys).union(after.fields.keys).sorted().compactMap { name -> FieldDifference? in
            let (old, new) = (before.fields[name], after.fields[name])
            if old.map(bytes) == new.map(bytes) { return nil }
            return FieldDifference(
                name: name.string, kind: kind(hadValue: old != nil, hasValue: new != nil), before: presenter.view(old?.value, of: name),
                after: presenter.view(new?.value, of: name))
        }
        if before.parent != after.parent {
            func view(_ parent: Name?) -> ValueView { parent.map { presenter.view(.reference(Reference(recordName: $0)), of: "parent") } ?? .missing }
            differences.append(
                FieldDifference(
                    name: "parent", kind: kind(hadValue: before.parent != nil, hasValue: after.parent != nil), before: view(before.parent),
                    after: view(after.parent)))
        }
        return differences
    }

    private static func kind(hadValue: Bool, hasValue: Bool) -> String {
        hadValue ? hasValue ? "changed" : "removed" : "added"
    }

    /// The stored bytes of the field. Strings that look the same can differ in their bytes.
    private static func bytes(_ field: Field) -> [UInt8] { FieldsText(CollectionOfOne(field)).bytes }
}
