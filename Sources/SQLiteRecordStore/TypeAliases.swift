internal import Records

// The database library and Foundation have types of these names too; in this target ours are meant.
typealias RecordError = Records.RecordError
typealias Comparator = Records.Comparator
