/// What a store's writer knows besides the tables. Stores that several processes write to have it in a row, which the next writer reads.
struct WriterNotes: Sendable, Equatable {
    /// The last assigned position.
    var position: Int64
    /// Total size of the journal in bytes.
    var journalBytes: Int64
    /// Number of rows of cascades and walks that are left to do.
    var cascades: Int64
    /// How often values were removed from records without a new position.
    var strips: Int64
    /// 0 if no hierarchy was ever shared.
    var hierarchies: Int64
    var schemaVersion: Int64
    /// Grows with changes of facts that are read when a store is opened.
    var factsVersion: Int64

    /// Columns, in the order of ``values``.
    static let columns = ["position", "journalBytes", "cascades", "strips", "hierarchies", "schemaVersion", "factsVersion"]

    var values: [Int64] { [position, journalBytes, cascades, strips, hierarchies, schemaVersion, factsVersion] }

    init(position: Int64, journalBytes: Int64, cascades: Int64, strips: Int64, hierarchies: Int64, schemaVersion: Int64, factsVersion: Int64) {
        (self.position, self.journalBytes, self.cascades, self.strips) = (position, journalBytes, cascades, strips)
        (self.hierarchies, self.schemaVersion, self.factsVersion) = (hierarchies, schemaVersion, factsVersion)
    }

    /// - Returns: `nil` unless there is a value for each column.
    init?(_ values: [Int64]) {
        guard values.count == Self.columns.count else { return nil }
        self.init(
            position: values[0], journalBytes: values[1], cascades: values[2], strips: values[3], hierarchies: values[4], schemaVersion: values[5],
            factsVersion: values[6])
    }

    /// The notes of a store that was just opened, or made.
    init(_ facts: StoreFacts) {
        self.init(
            position: facts.position, journalBytes: facts.journalBytes, cascades: Int64(facts.cascades), strips: 0,
            hierarchies: facts.hasHierarchies ? 1 : 0, schemaVersion: facts.catalog.version, factsVersion: 0)
    }
}

extension CommitWriter.State {
    var notes: WriterNotes {
        WriterNotes(
            position: position, journalBytes: journalBytes, cascades: Int64(cascades.count), strips: Int64(strips), hierarchies: hasHierarchies ? 1 : 0,
            schemaVersion: catalog.version, factsVersion: factsVersion)
    }

    /// Adopts what another process left.
    /// - Throws: ``SQLError`` or ``DamagedRow`` if its schema can't be read.
    mutating func adopt(_ notes: WriterNotes, _ db: SQLConnection) throws {
        (position, journalBytes, strips, factsVersion) = (notes.position, notes.journalBytes, Int(notes.strips), notes.factsVersion)
        cascades.count = Int(notes.cascades)
        hasHierarchies = notes.hierarchies != 0
        if catalog.version == notes.schemaVersion { return }
        let limits = catalog.indexLimits
        catalog = try SchemaCatalog(db)
        catalog.indexLimits = limits
    }
}
