internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// One index of a field: present, possible or impossible, with the progress of its build or deletion.
struct IndexCell: ViewModel {
    struct Button: ViewModel {
        let value: String
        let label: String

        func child(named name: String) -> Any? {
            switch name {
            case "value": value
            case "label": label
            default: nil
            }
        }
    }

    let index: String
    let isThere: Bool
    let isPossible: Bool
    /// The progress, such as `building, 43 %`; `nil` if there is no job.
    let work: String?
    /// `nil` if the schema can't be edited.
    let button: Button?

    func child(named name: String) -> Any? {
        switch name {
        case "index": index
        case "isThere": isThere
        case "isPossible": isPossible
        case "work": work ?? Absent()
        case "button": button ?? Absent()
        default: nil
        }
    }
}

extension IndexCell {
    /// The three indexes of a field, in schema file order.
    static func all(of field: QueryField, in typeName: Name, works: IndexWorks, canEdit: Bool) -> [IndexCell] {
        Indexes.named.map { name, index in
            let isThere = field.definition.indexes.contains(index)
            let isPossible = field.allowedIndexes.contains(index)
            let button = Button(
                value: "\(typeName)/\(field.key.schemaName):\(name)",
                label: isThere ? "Delete \(name) from \(field.name) of \(typeName)" : "Add \(name) to \(field.name) of \(typeName)")
            return IndexCell(
                index: name, isThere: isThere, isPossible: isPossible, work: works.words(of: index, on: field.key, in: typeName),
                button: canEdit && isPossible ? button : nil)
        }
    }
}
