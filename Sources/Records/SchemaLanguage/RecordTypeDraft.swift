internal import JSON

/// A record type while its text is read.
struct RecordTypeDraft {
    let name: Name
    var fields: [Name: FieldDefinition] = [:]
    var systemIndexes: [SystemField: Indexes] = [:]
    var grants: [Grant] = []
    /// Where fields are declared.
    var places: [Name: Int] = [:]

    init(name: Name) {
        self.name = name
    }

    var type: RecordType {
        var type = RecordType(name: name, fields: fields, systemIndexes: systemIndexes, grants: Grant.canonical(grants))
        // Every container has this type with this field, also when a file leaves the field out.
        if name == Schema.usersType { type.fields.merge(Schema.users.fields) { declared, _ in declared } }
        if grants.isEmpty { type.grants = name == Schema.usersType ? Schema.users.grants : Grant.defaults }
        return type
    }
}
