internal import Accounts
package import Console
package import HTTPTypes
internal import RecordStore
internal import Records

/// The page of a record type: its fields and indexes, composite indexes, grants, and the usage of its fields.
package struct TypeView: Page {
    package static let template = "type"
    package static let tab = Tab.types

    /// Measurements over all records of the type.
    struct Measured: ViewModel {
        let records: String
        /// Fields without a value in any record.
        let neverFilled: String?
    }

    /// The row for a new field, as it was typed if the form was refused.
    struct NewField: ViewModel {
        let name: String
        let types: [ChoiceGroup]
        let indexes: [Choice]
        let nameLimit: String
    }

    package let title: String
    let name: String
    let isSystemType: Bool
    let canEdit: Bool
    let isProduction: Bool
    /// The records in this database, and the fields.
    let sizes: [String]
    let grantCount: String
    let types: String
    let refused: RefusedForm?
    let query: String
    let newRecord: String
    /// The link to the confirmation of the removal; `nil` if the type can't be removed.
    let remove: String?
    let works: IndexWorkPanel?
    /// True if the tables update while index jobs run. False if they show the usage, which would be measured again and
    /// again.
    let isLive: Bool
    /// The page Indexes, which reloads itself during index jobs. This page does not reload, because that would discard
    /// input.
    let indexes: String
    let fields: [FieldRow]
    let systemFields: [FieldRow]
    /// The indexes that the grid shows.
    let shown: String
    let indexNames: [String]
    let isMeasured: Bool
    let columns: String
    /// `1,185 records`, which a new index is built over.
    let built: String?
    let measured: Measured?
    /// This page with the usage of each field; `nil` if the engine can't measure it, or the page already shows it.
    let measure: String?
    /// The address of the index forms.
    let action: String
    /// This page after a change. It omits the usage, which was not requested again.
    let back: String
    /// The address of this page, for the way back after an error.
    let here: String
    let newField: NewField?
    /// `nil` if the type has no composite indexes.
    let composites: Form?
    let newComposite: CompositeIndexForm?
    let compositeAction: String
    /// `nil` for a type whose records have no titles.
    let titleForm: TitleForm?
    let grants: [GrantRow]
    let editGrants: String
    let text: String

    package var status: HTTPResponse.Status { refused == nil ? .ok : .badRequest }

    /// - Parameter refused: the reason why a form of the grid was refused, which shows its input again.
    package static func load(_ visit: Visit) async throws -> TypeView { try await load(visit, refused: nil) }

    static func load(_ visit: Visit, refused: RecordError?) async throws -> TypeView {
        let name = Name(visit.fields["type"] ?? "")
        guard let type = visit.schema?.types[name] else { throw RecordError(known: .unknownType, name) }
        let works = try await visit.indexWorks()
        let canMeasure = visit.database.can(.measureTypes)
        let isAsked = visit.fields.text("usage") != nil
        var usage: TypeUsage?
        if isAsked, canMeasure {
            usage = try await visit.measure { try await visit.database.require(.measureTypes).usage(of: name) }
        }
        let reachable = try await records(Set(usage?.fields.compactMap(\.largestRecord) ?? []), of: name, visit: visit)
        let isSystemType = name == Schema.usersType
        let records =
            isSystemType ? nil : try await TypesView.counts(visit).map { Digits.count($0[name] ?? 0, "record") }
        let ticks = refused == nil ? nil : IndexTicks(visit.fields)
        func rows(_ isIncluded: (QueryField) -> Bool) -> [FieldRow] {
            QueryField.all(of: type).filter(isIncluded).map {
                FieldRow($0, of: type, works: works, ticks: ticks, usage: usage, reachable: reachable, visit: visit)
            }
        }
        let fields = rows { !$0.isSystem }.sorted { Name($0.name) < Name($1.name) }
        let systemFields = rows(\.isSystem)
        let here = visit.place.link("type", [("type", name.string)] + (isAsked ? [("usage", "1")] : []))
        let back = visit.place.link("type", [("type", name.string)])
        let composites = CompositeIndexTable.rows(
            of: type, works: works, usage: usage, isNamed: false, visit: visit)
        return TypeView(
            title: name.string, name: name.string, isSystemType: isSystemType, canEdit: visit.canEditSchema,
            isProduction: visit.place.address.environment == .production,
            sizes: (records.map { [$0] } ?? []) + [Digits.count(fields.count, "field")],
            grantCount: Digits.count(type.grants.count, "grant"), types: visit.place.link("types"),
            refused: refused.map { RefusedForm($0, typed: visit.fields["field"] ?? "") },
            query: visit.place.link("query", [("type", name.string)]),
            newRecord: visit.place.link("record/new", [("type", name.string)]),
            remove: visit.canEditSchema && !isSystemType
                ? visit.place.link("type/remove", [("type", name.string), ("from", back)]) : nil, works: works.panel,
            isLive: works.panel != nil && usage == nil && refused == nil, indexes: visit.place.link("indexes"),
            fields: fields, systemFields: systemFields,
            shown: IndexCell.shown((fields + systemFields).map(\.cells)),
            indexNames: Indexes.named.map(\.name), isMeasured: usage != nil,
            columns: String(5 + (usage != nil ? 4 : 0) + (visit.canEditSchema ? 1 : 0)), built: records,
            measured: usage.map { Measured($0) },
            measure: !canMeasure || isAsked ? nil : visit.place.link("type", [("type", name.string), ("usage", "1")]),
            action: visit.place.link("type/indexes"), back: back,
            here: here,
            newField: visit.canEditSchema
                ? NewField(
                    name: refused == nil ? "" : visit.fields["field"] ?? "",
                    types: FieldTypeChoices.groups(refused == nil ? nil : visit.fields["fieldType"]),
                    indexes: Indexes.named.map { index, _ in
                        Choice(index, index, isSelected: refused != nil && visit.fields.all("index").contains(index))
                    }, nameLimit: String(Field.nameLimit)) : nil,
            composites: composites.isEmpty
                ? nil
                : CompositeIndexTable.form(
                    composites, isNamed: false, isMeasured: usage != nil, back: back, from: here, visit),
            newComposite: visit.database.can(.editSchema) && !isSystemType ? CompositeIndexForm(type) : nil,
            compositeAction: visit.place.link("composites/change"),
            titleForm: isSystemType ? nil : TitleForm(type, visit), grants: type.sortedGrants.map { GrantRow($0) },
            editGrants: visit.place.link("roles", [("type", name.string)]), text: type.schemaStatement + ";")
    }

    /// The records of the set that are in the current database.
    private static func records(_ wanted: Set<RecordID>, of typeName: Name, visit: Visit) async throws -> Set<RecordID>
    {
        if wanted.isEmpty { return [] }
        let recordIDs = Array(wanted)
        let results = try await visit.measure { try await visit.database.fetch(recordIDs, desiredKeys: []) }
        let found = zip(recordIDs, results).filter { _, result in (try? result.get())?.recordType == typeName }
        return Set(found.map(\.0))
    }
}

extension TypeView.Measured {
    fileprivate init(_ usage: TypeUsage) {
        records = Digits.count(usage.records, "record")
        let unused = usage.fields.compactMap { field -> String? in
            if case .custom(let name) = field.key, field.records == 0 { name.string } else { nil }
        }
        neverFilled = usage.records == 0 || unused.isEmpty ? nil : unused.joined(separator: ", ")
    }
}

// MARK: - Fields

/// A field of a record type, with its indexes and usage.
struct FieldRow: ViewModel {
    /// The usage of a field across all databases and users of the environment.
    struct Usage: ViewModel {
        /// The number of records with a value; `nil` if there are records, but none has a value.
        let records: String?
        /// `80 %`
        let share: String?
        let distinct: String
        let largest: String
        /// The page of the record with the largest value; `nil` if it is in another database.
        let largestRecord: String?
        let largestName: String?
        let space: String
    }

    let name: String
    /// The name in schema files, if it differs.
    let schemaName: String?
    let type: String
    let cells: [IndexCell]
    let isMeasured: Bool
    let usage: Usage?
    /// The link to the confirmation of the removal; `nil` for system fields.
    let remove: String?
    let removeLabel: String
}

extension FieldRow {
    /// - Parameters:
    ///   - measured: the usage of the type, if measured.
    ///   - reachable: the records with the largest values that are in the current database.
    init(
        _ field: QueryField, of type: RecordType, works: IndexWorks, ticks: IndexTicks?, usage measured: TypeUsage?,
        reachable: Set<RecordID>, visit: Visit
    ) {
        let isSystemType = type.name == Schema.usersType
        name = field.name.string
        schemaName = field.name == field.key.schemaName ? nil : field.key.schemaName.string
        self.type = field.definition.type.schemaName
        cells = IndexCell.all(
            of: field, in: type.name, works: works, canEdit: visit.canEditSchema && !isSystemType, ticks: ticks)
        isMeasured = measured != nil
        usage = measured.flatMap { measured in
            measured.fields.first { $0.key == field.key }.map {
                Usage($0, of: measured, reachable: reachable, visit: visit)
            }
        }
        let isOwn = !field.isSystem && !(Schema.initial.types[type.name]?.fields.keys.contains(field.name) ?? false)
        remove =
            isOwn && visit.canEditSchema
            ? visit.place.link(
                "field/remove",
                [
                    ("type", type.name.string), ("field", field.name.string),
                    ("from", visit.place.link("type", [("type", type.name.string)])),
                ]) : nil
        removeLabel = "Delete the field \(field.name)…"
    }
}

extension FieldRow.Usage {
    fileprivate init(_ field: TypeUsage.FieldUsage, of type: TypeUsage, reachable: Set<RecordID>, visit: Visit) {
        let isEmpty = field.records == 0
        records = isEmpty && type.records > 0 ? nil : Digits.grouped(field.records)
        share = isEmpty || type.records == 0 ? nil : Self.percent(field.records, of: type.records)
        distinct = isEmpty ? "–" : Digits.grouped(field.distinctValues) + (field.isCutOff ? " or more" : "")
        largest = isEmpty ? "–" : Digits.bytes(Int64(field.largestBytes))
        largestRecord = field.largestRecord.flatMap {
            reachable.contains($0) ? visit.place.link(toRecord: $0.recordName, in: $0.zoneID) : nil
        }
        largestName = field.largestRecord?.recordName.string
        let bytes = field.entryBytes + field.tokenBytes
        space = bytes == 0 ? "–" : Digits.bytes(Int64(bytes))
    }

    /// A percentage. Only an exact share counts as all; other shares show as 1 % to 99 %.
    private static func percent(_ part: Int, of whole: Int) -> String {
        if part >= whole { return "all" }
        return "\(min(99, max(1, Int((Double(part) * 100 / Double(whole)).rounded())))) %"
    }
}

// MARK: - Permissions

/// The permissions of a role for the records of a type.
struct GrantRow: ViewModel {
    let role: String
    let meaning: String
    let permissions: [String]

    init(_ grant: Grant) {
        role = grant.role.string
        meaning = Self.meaning(of: grant.role)
        permissions = Grant.Permission.allCases.filter(grant.permissions.contains).map(\.rawValue)
    }

    /// A description of the users with a role.
    static func meaning(of role: Name) -> String {
        switch role {
        case "_world": "anyone"
        case "_icloud": "signed-in users"
        case "_creator": "the record's creator"
        default: "custom role"
        }
    }
}

extension RecordType {
    /// The grants from the widest role to the narrowest, custom roles last.
    var sortedGrants: [Grant] {
        let order = RolesView.systemRoles
        return grants.sorted { left, right in
            let ranks = (
                order.firstIndex(of: left.role) ?? order.count, order.firstIndex(of: right.role) ?? order.count
            )
            return ranks.0 == ranks.1 ? left.role < right.role : ranks.0 < ranks.1
        }
    }
}

// MARK: - Title

/// The form that chooses the field with the titles of a type's records.
package struct TitleForm: ViewModel {
    /// The value of the choice without a title.
    private static let none = "-"

    let action: String
    let choices: [Choice]

    init(_ type: RecordType, _ visit: Visit) {
        action = visit.place.link("type/title")
        let chosen = visit.titles.chosen[type.name]
        let fields = type.fields.filter { RecordTitles.canBeTitle($0.value.type) }.map(\.key).sorted()
        choices =
            [
                Choice("", "the first text of title, name, text and subject", isSelected: chosen == nil),
                Choice(Self.none, "no title", isSelected: chosen?.isEmpty ?? false),
            ] + fields.map { Choice($0.string, $0.string, isSelected: chosen == $0) }
    }

    /// Saves the choice, for both environments of the container.
    /// - Throws: `RecordError` NOT_FOUND if the type does not exist, BAD_REQUEST if the field can't be a title.
    package static func choose(_ visit: Visit) async throws -> String {
        let typeName = Name(visit.fields["type"] ?? "")
        guard let type = visit.schema?.types[typeName] else { throw RecordError(known: .unknownType, typeName) }
        let field: Name? =
            switch visit.fields["field"] ?? "" {
            case "": nil
            case none: ""
            case let name: Name(name)
            }
        if let field, !field.isEmpty {
            guard let definition = type.fields[field] else {
                throw RecordError(.badRequest, "The type '\(typeName)' has no field '\(field)'; choose another title")
            }
            guard RecordTitles.canBeTitle(definition.type) else {
                throw RecordError(
                    .badRequest,
                    "The field '\(field)' has the type \(definition.type.schemaName) and can't be a title; choose a STRING, INT64, DOUBLE or TIMESTAMP field"
                )
            }
        }
        try await visit.accounts.setTitleField(field, of: typeName, in: visit.place.address.container)
        return visit.place.link("type", [("type", typeName.string), Notice.titleChosen.parameter])
    }
}
