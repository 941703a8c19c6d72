/// Entries that belong together.
struct ChoiceGroup: ViewModel {
    let label: String
    let choices: [Choice]
}
