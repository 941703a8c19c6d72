package import Console
internal import HTTPTypes
internal import RecordStore
internal import Records

/// The page Record types: all types of a container, their indexes, and the form for a new type.
package enum TypesView {
    /// The maximum number of zones whose counts are added.
    private static let zoneLimit = 200

    package static func load(_ visit: Visit) async throws -> ComponentPage { try await load(visit, refused: nil) }

    static func load(_ visit: Visit, refused: RefusedForm?) async throws -> ComponentPage {
        let counts = try await counts(visit)
        let all = visit.schema?.sortedTypes ?? []
        let own = Set(visit.ownTypes.map(\.name))
        let ofSystem = all.map(\.name.string).filter { !own.contains(Name($0)) }
        return ComponentPage(
            .types, status: refused == nil ? .ok : .badRequest,
            PageHead(
                Tab.types.title,
                visit.place.address.environment == .production
                    ? ["The production schema comes from development and can't be edited here."] : [],
                forms: visit.canEditSchema
                    ? [form(visit, refused, isListable: refused == nil || visit.fields.text("listable") != nil)] : []),
            (refused.map { [Note($0)] } ?? []) + (visit.types.isEmpty ? [FirstSteps(visit)] : []) + [
                Table(
                    "Record types of the container",
                    [
                        "type", .number("fields"), "indexed", "recordName", .number("records in this database"),
                        "read",
                    ], all.map { row($0, counts: counts, visit) })
            ],
            foot: PageFooter(count: ([Digits.count(own.count, "record type")] + ofSystem).joined(separator: " and ")))
    }

    private static func form(_ visit: Visit, _ refused: RefusedForm?, isListable: Bool) -> Form {
        Form(
            .line, visit.place.link("types/create"),
            hidden: [Frame.Hidden(name: "from", value: visit.place.link("types"))],
            [
                FormField(
                    .code, "name", "New type", value: refused?.typed, placeholder: "Note",
                    tip: "A letter, then letters, digits and _", pattern: "[A-Za-z][A-Za-z0-9_]*",
                    limit: RecordType.nameLimit, isRequired: true),
                FormField(
                    .tick(isOn: isListable), "listable", "recordName QUERYABLE",
                    tip: "A query without filters runs, so the console can list the records"),
            ], button: "Create", buttonStyle: "go")
    }

    private static func row(_ type: RecordType, counts: [Name: Int]?, _ visit: Visit) -> Table.Row {
        let parameters = [(name: "type", value: type.name.string)]
        let indexed = type.fields.values.count { !$0.indexes.isEmpty }
        let isQueried = type.name != Schema.usersType
        return Table.Row([
            .link(type.name.string, visit.place.link("type", parameters)), Inline(Digits.grouped(type.fields.count)),
            Inline(indexed == 0 ? "none" : Digits.count(indexed, "field")),
            !isQueried
                ? .faint("can't be queried")
                : type.isListable
                    ? .badge("QUERYABLE")
                    : .badge("no QUERYABLE index", "lacks", hint: "A query without filters is refused"),
            Inline(counts.map { Digits.grouped($0[type.name] ?? 0) } ?? ""),
            isQueried ? .link("Query", visit.place.link("query", parameters)) : "",
        ])
    }

    /// The records of each type in the database; `nil` if it has too many zones, or does not count.
    static func counts(_ visit: Visit) async throws -> [Name: Int]? {
        guard visit.zones.count <= zoneLimit, visit.database.can(.countRecords) else { return nil }
        var counts: [Name: Int] = [:]
        for zone in visit.zones {
            guard let more = try await visit.counts(in: zone.zoneID) else { return nil }
            counts.merge(more.records, uniquingKeysWith: +)
        }
        return counts
    }
}

// MARK: - Actions

/// The actions on record types and their fields.
package enum TypeActions {
    // MARK: Creation

    /// Creates a type without fields. If `listable` is ticked, its records can be listed.
    package static func create(_ visit: Visit) async throws -> Answer {
        let name = Name(visit.fields["name"]?.trimmingSpaces ?? "")
        let link = visit.place.link("type", [("type", name.string)])
        if visit.schema?.types[name] != nil {
            let error = RecordError(.badRequest, "The record type '\(name)' already exists; choose another name")
            return .page(
                try await TypesView.load(
                    visit,
                    refused: RefusedForm(error, typed: name.string, link: Frame.Link(text: "Open \(name)", href: link)))
            )
        }
        let indexes: [SystemField: Indexes] = visit.fields.text("listable") == nil ? [:] : [.recordID: .queryable]
        do {
            try await SchemaActions.edit([.addType(RecordType(name: name, systemIndexes: indexes))], visit: visit)
        } catch let error as RecordError where error.code == .badRequest {
            return .page(try await TypesView.load(visit, refused: RefusedForm(error, typed: name.string)))
        }
        return .redirect(visit.place.link("type", [("type", name.string), Notice.typeCreated.parameter]))
    }

    /// The field that a form adds, with the ticked indexes; `nil` if the form names none.
    static func newField(_ visit: Visit) throws -> SchemaEdit? {
        guard let name = visit.fields.text("field").map({ Name($0.trimmingSpaces) }), !name.isEmpty else { return nil }
        let type = try SchemaActions.type(named: Name(visit.fields["type"] ?? ""), visit: visit)
        if type.fields[name] != nil {
            throw RecordError(.badRequest, "The type '\(type.name)' already has a field '\(name)'; choose another name")
        }
        guard let fieldType = FieldTypeChoices.type(named: visit.fields["fieldType"] ?? "") else {
            throw RecordError(.badRequest, "A field needs a type, such as STRING or LIST<INT64>")
        }
        let indexes = try Indexes(names: visit.fields.all("index").map { Name($0) })
        return .addType(
            RecordType(
                name: type.name, fields: [name: FieldDefinition(type: fieldType, indexes: indexes)],
                grants: type.grants))
    }

    // MARK: Removing

    package static func confirmRemoval(_ visit: Visit) async throws -> ConfirmationView {
        let type = try SchemaActions.type(named: Name(visit.fields["type"] ?? ""), visit: visit)
        try await checkIsNotDeployed(type.name, visit)
        let records = try await counts(of: [], in: type, visit: visit)?.records
        return ConfirmationView(
            on: .types, title: "Delete the record type \(type.name)?",
            lines: [
                loss(records, "of this type", verb: "deletes"),
                "Clients see the deletions in the changes of their zones.",
            ],
            action: visit.place.link("type/remove"), fields: [Frame.Hidden(name: "type", value: type.name.string)],
            button: "Delete the type",
            cancel: visit.place.link("type", [("type", type.name.string)]), losing: records == 0 ? nil : visit)
    }

    package static func remove(_ visit: Visit) async throws -> String {
        let name = Name(visit.fields["type"] ?? "")
        try await checkIsNotDeployed(name, visit)
        try await SchemaActions.edit([.removeType(name)], visit: visit)
        return visit.place.link("types", [Notice.typeRemoved.parameter])
    }

    package static func confirmFieldRemoval(_ visit: Visit) async throws -> ConfirmationView {
        let type = try SchemaActions.type(named: Name(visit.fields["type"] ?? ""), visit: visit)
        let name = Name(visit.fields["field"] ?? "")
        guard let definition = type.fields[name] else {
            throw RecordError(.notFound, "Did not find field: '\(name)' in type: '\(type.name)'")
        }
        try await checkIsNotDeployed(type.name, field: name, visit)
        let records = try await counts(of: [name], in: type, visit: visit)?.values[name]
        return ConfirmationView(
            on: .types, title: "Delete the field \(name) from \(type.name)?",
            lines: [
                "A field of type \(definition.type.schemaName).",
                loss(records, "with a value in the field", verb: "deletes the values of"),
                "The records get no new change tag. Clients see the change only when they fetch a record again.",
            ],
            action: visit.place.link("field/remove"),
            fields: [
                Frame.Hidden(name: "type", value: type.name.string), Frame.Hidden(name: "field", value: name.string),
            ], button: "Delete the field",
            cancel: visit.place.link("type", [("type", type.name.string)]), losing: records == 0 ? nil : visit)
    }

    package static func removeField(_ visit: Visit) async throws -> String {
        let typeName = visit.fields["type"] ?? ""
        let name = Name(visit.fields["field"] ?? "")
        try await checkIsNotDeployed(Name(typeName), field: name, visit)
        try await SchemaActions.edit([.removeField(name, in: Name(typeName))], visit: visit)
        return visit.place.link("type", [("type", typeName), Notice.fieldRemoved.parameter])
    }

    // MARK: Data loss

    private static func counts(of fields: Set<Name>, in type: RecordType, visit: Visit) async throws -> ValueCounts? {
        guard visit.database.can(.measureTypes) else { return nil }
        return try await visit.measure {
            try await visit.database.require(.measureTypes).valueCounts(of: fields, in: type.name)
        }
    }

    private static func loss(_ records: Int?, _ what: String, verb: String) -> String {
        switch records {
        case nil: "This permanently \(verb) all records \(what), in all databases and of all users."
        case 0?: "There is no record \(what)."
        case let count?:
            "This permanently \(verb) \(Digits.count(count, "record")) \(what), in all databases and of all users."
        }
    }

    /// - Throws: `RecordError` BAD_REQUEST if production has the type or the field: as in CloudKit, development can't
    ///   delete what was deployed, because no deployment from there would be possible.
    private static func checkIsNotDeployed(_ typeName: Name, field: Name? = nil, _ visit: Visit) async throws {
        guard visit.canEditSchema, let deployed = try await visit.schema(of: .production).types[typeName] else {
            return
        }
        if let field {
            guard deployed.fields[field] != nil else { return }
            throw RecordError(
                .badRequest,
                "The field '\(field)' of type '\(typeName)' is in production, which never loses a field, so it can't be deleted here either. Leave it unused"
            )
        }
        throw RecordError(
            .badRequest,
            "The type '\(typeName)' is in production, which never loses a type, so it can't be deleted here either. Leave it unused, or delete its records"
        )
    }
}
