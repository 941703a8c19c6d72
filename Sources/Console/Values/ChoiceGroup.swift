/// A group of options.
struct ChoiceGroup: ViewModel {
    let label: String
    let choices: [Choice]
}
